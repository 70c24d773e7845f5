import type { Approval } from './queries.ts'
import styles from './approvals.module.css'

/** The question behind a call, and earlier messages on demand. All content is text. */
export function Conversation({ question, messages }: { question: string; messages: NonNullable<Approval['messages']> }) {
  // The newest message is the question itself.
  const earlier = messages.at(-1)?.content === question ? messages.slice(0, -1) : messages
  return (
    <div className={styles.conversation}>
      <p className={styles.question}>{question}</p>
      {earlier.length > 0 && (
        <details>
          <summary className={styles.earlier}>The conversation before ({earlier.length})</summary>
          {earlier.map(({ role, content }, index) => (
            <p key={index} className={styles.message}>
              <b>{role === 'human' ? 'Caller' : 'Agent'}</b> {content}
            </p>
          ))}
        </details>
      )}
    </div>
  )
}
