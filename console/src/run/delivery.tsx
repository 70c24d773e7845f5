import { Button } from '@mantine/core'
import { useMay } from '../api/me.ts'
import { notify, notifyFailure } from '../parts/notify.ts'
import { StatusBadge } from '../parts/status-badge.tsx'
import { Timestamp } from '../parts/timestamp.tsx'
import { useResend, type Run, type RunKey } from './queries.ts'
import styles from './run.module.css'

/** The callback of an asynchronous run: address, attempts, and a button that sends the callback again. */
export function Delivery({ runKey, callback }: { runKey: RunKey; callback: NonNullable<Run['callback']> }) {
  const mayResend = useMay()('runs.write')
  const resend = useResend(runKey)
  const send = () =>
    resend.mutate(undefined, {
      onSuccess: () => notify('The callback is being sent again.'),
      onError: (error) => notifyFailure('The callback could not be sent', error),
    })
  return (
    <section className={styles.delivery} aria-label="Callback">
      <div className={styles.deliveryHead}>
        <StatusBadge status={callback.status} label={`Callback ${callback.status}`} />
        <code className={styles.url}>{callback.url}</code>
        {mayResend && callback.status !== 'delivered' && (
          <Button size="compact-sm" variant="default" loading={resend.isPending} onClick={send}>
            Send again
          </Button>
        )}
      </div>
      <ol className={styles.attempts}>
        {callback.attempts.map(({ at, status, error }) => (
          <li key={at}>
            <Timestamp at={at} isExact /> {status ?? 'no answer'} {error}
          </li>
        ))}
      </ol>
    </section>
  )
}
