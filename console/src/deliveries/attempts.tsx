import { CutText } from '../parts/cut-text.tsx'
import { Timestamp } from '../parts/timestamp.tsx'
import type { Delivery } from './queries.ts'
import styles from './deliveries.module.css'

/** The attempts of a callback, newest first, with what was sent and answered where the key may see it. */
export function Attempts({ attempts }: { attempts: Delivery['attempts'] }) {
  if (attempts.length === 0) return <p className={styles.none}>No attempt yet.</p>
  return (
    <ol className={styles.attempts} reversed>
      {attempts.toReversed().map(({ at, status, error, request_body: sent, response_body: answered }, index) => (
        <li key={`${at} ${index}`}>
          <span className={styles.attempt} data-good={status !== null && status >= 200 && status < 300}>
            <Timestamp at={at} isExact /> · {status === null ? 'no answer' : `HTTP ${status}`}
            {error && ` · ${error}`}
          </span>
          {sent !== undefined && <Body title="Sent" text={sent} />}
          {answered !== undefined && <Body title="Answered" text={answered} />}
        </li>
      ))}
    </ol>
  )
}

function Body({ title, text }: { title: string; text: string }) {
  return (
    <details className={styles.body}>
      <summary>{title}</summary>
      <CutText text={text === '' ? '(empty)' : text} label={title} fileName={`${title.toLowerCase()}.txt`} />
    </details>
  )
}
