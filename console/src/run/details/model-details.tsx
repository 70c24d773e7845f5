import { formatAmounts } from '../../parts/budget/amounts.ts'
import { CutText } from '../../parts/cut-text.tsx'
import { CachedInput, Cost, Duration, Tokens } from '../../parts/figures.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import type { Span } from '../queries.ts'
import { Fact, Section } from './fact.tsx'
import { SentMessages } from './sent-messages.tsx'
import styles from './details.module.css'

/** A model call: cost, attempts, reasoning and text of the model, and the messages sent. */
export function ModelDetails({ span: { attributes, messages } }: { span: Span }) {
  const { attempts = [], reasoning, output, time_to_first_token: first } = attributes
  const held = attempts.at(-1)?.held
  return (
    <>
      <dl className={styles.facts}>
        <Fact name="Model">{attributes.model ?? '–'}</Fact>
        <Fact name="Input">
          <Tokens count={attributes.input_tokens} /> <CachedInput cached={attributes.cached_input_tokens} input={attributes.input_tokens} />
        </Fact>
        <Fact name="Output">
          <Tokens count={attributes.output_tokens} />
        </Fact>
        <Fact name="Cost">
          <Cost usd={attributes.cost} />
        </Fact>
        {held && <Fact name="Reserved before">{formatAmounts(held)}</Fact>}
        <Fact name="First token">
          <Duration ms={typeof first === 'number' ? first * 1000 : undefined} />
        </Fact>
        <Fact name="Finished">{attributes.finish_reason ?? '–'}</Fact>
      </dl>
      {attempts.length > 1 && <Attempts attempts={attempts} />}
      {messages && <SentMessages messages={messages} />}
      {reasoning && (
        <Section title="Thoughts">
          <CutText text={reasoning} label="Thoughts" />
        </Section>
      )}
      {typeof output === 'string' && output !== '' && (
        <Section title="Answer of the model">
          <CutText text={output} label="Answer of the model" />
        </Section>
      )}
    </>
  )
}

type Attempt = NonNullable<Span['attributes']['attempts']>[number]

function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  return (
    <Section title="Attempts">
      <ol className={styles.attempts}>
        {attempts.map(({ model, status, started_at: start, ended_at: end, error }) => (
          <li key={start}>
            <StatusBadge status={status} /> <span>{model}</span>{' '}
            <Duration ms={end === null ? undefined : Date.parse(end) - Date.parse(start)} />
            {error && <span className={styles.attemptError}>{error}</span>}
          </li>
        ))}
      </ol>
    </Section>
  )
}
