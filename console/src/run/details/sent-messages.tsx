import { CutText } from '../../parts/cut-text.tsx'
import type { Span } from '../queries.ts'
import { Section } from './fact.tsx'
import styles from './details.module.css'

/** Messages of a long transcript that are shown first. */
const shownMessages = 30

/** The messages sent to the model, without the system prompt. */
export function SentMessages({ messages }: { messages: NonNullable<Span['messages']> }) {
  const skipped = Math.max(0, messages.length - shownMessages)
  return (
    <Section title="Sent to the model">
      {skipped > 0 && <p className={styles.note}>{skipped} earlier messages are not shown.</p>}
      {messages.slice(skipped).map(({ role, content, tool_calls: calls = [] }, index) => (
        <div key={index} className={styles.message}>
          <span className={styles.role}>{role}</span>
          {content !== '' && <CutText text={content} label={`Message of ${role}`} />}
          {calls.map(({ tool_call_id: id, tool, arguments: input }) => (
            <div key={id}>
              calls <code>{tool}</code>
              <CutText text={input} label={`Input of ${tool}`} />
            </div>
          ))}
        </div>
      ))}
    </Section>
  )
}
