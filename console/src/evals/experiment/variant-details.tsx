import { Cost, Duration, Tokens } from '../../parts/figures.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import type { Outcome, Score, VariantResult } from '../experiment-queries.ts'
import { CutLine, JsonLine } from '../json-line.tsx'
import { describeDivergence } from './words.ts'
import styles from '../evals.module.css'

const looks: Record<Outcome, readonly [status: string, word: string]> = {
  passed: ['success', 'passed'],
  failed: ['failed', 'failed'],
  diverged: ['unknown', 'diverged'],
  error: ['error', 'error'],
}

export function OutcomeBadge({ label, outcome }: { label: string; outcome: Outcome }) {
  const [status, word] = looks[outcome] ?? [outcome, outcome]
  return <StatusBadge status={status} label={`${label} ${word}`} />
}

/** What became of one replay: output, first divergence, scores with reasons, figures. */
export function VariantDetails({ name, result }: { name: string; result: VariantResult }) {
  const { outcome, output, error, divergence, scores, cost, tokens, duration_ms: duration, is_equal: isEqual } = result
  return (
    <section className={styles.variant} aria-label={name}>
      <OutcomeBadge label={name} outcome={outcome} />
      <Output text={output} />
      {error !== null && <p className={styles.fault}>{error.slice(0, 2000)}</p>}
      {divergence && (
        <p className={styles.warning}>
          First divergence: {describeDivergence(divergence)}
          {divergence.call && (
            <>
              {' '}
              <JsonLine value={divergence.call.tool_input} />
            </>
          )}
        </p>
      )}
      {isEqual === false && !divergence && <p className={styles.warning}>The events differ from those of the recorded run.</p>}
      <Scores scores={scores} />
      <span className={styles.facts}>
        <Cost usd={cost} />
        <span>
          <Tokens count={tokens} /> tokens
        </span>
        <Duration ms={duration} />
      </span>
    </section>
  )
}

export function Output({ text }: { text: string }) {
  if (text === '') return <p className={styles.quiet}>The answer is empty.</p>
  return (
    <p className={styles.output}>
      <CutLine text={text} />
    </p>
  )
}

function Scores({ scores }: { scores: readonly Score[] }) {
  if (scores.length === 0) return null
  return (
    <ul className={styles.scores} aria-label="Scores">
      {scores.map(({ name, score, passed, required, reason }, index) => (
        <li key={`${name} ${index}`}>
          <StatusBadge status={passed ? 'success' : required ? 'failed' : 'unknown'} label={`${name} ${score.toFixed(2)}`} />
          {reason !== undefined && <CutLine text={reason} />}
        </li>
      ))}
    </ul>
  )
}
