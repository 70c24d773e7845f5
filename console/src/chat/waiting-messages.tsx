import { Text } from '@mantine/core'
import { useStore } from '../api/store.ts'
import type { LiveRun } from './live/live-run.ts'
import { waitingOf } from './live/sent-messages.ts'
import styles from './question-item.module.css'

/** The messages that wait for a run. */
export function WaitingMessages({ run }: { run: LiveRun }) {
  const waiting = waitingOf(useStore(run.sent), useStore(run.answer))
  return waiting.map(({ id, text, mode }) => (
    <article key={id} className={styles.item} aria-label="Message">
      <div className={styles.bubble}>{text}</div>
      <Text size="xs" c="dimmed" mt={2}>
        {mode === 'steer' ? 'Waiting for the next step' : 'Waiting for the end of the answer'}
      </Text>
    </article>
  ))
}
