import { Button } from '@mantine/core'
import { ChevronDownIcon, ChevronRightIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { useMay, useMe } from '../api/me.ts'
import { notify, notifyFailure } from '../parts/notify.ts'
import { StatusBadge } from '../parts/status-badge.tsx'
import { Timestamp } from '../parts/timestamp.tsx'
import { runAddress } from '../runs/run-address.ts'
import { Attempts } from './attempts.tsx'
import { useResend, type Delivery } from './queries.ts'
import styles from './deliveries.module.css'

/** A callback or push notification in a row that opens to the attempts. */
export function DeliveryRow({ delivery }: { delivery: Delivery }) {
  const [isOpen, setOpen] = useState(false)
  const me = useMe().data
  const { url, status, attempts, next_attempt_at: next, created_at: created, config_id: config, sub, issuer } = delivery
  const isOwn = sub === me?.sub && issuer === me.issuer
  return (
    <article className={styles.delivery}>
      <div className={styles.row}>
        <button type="button" className={styles.open} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? <ChevronDownIcon /> : <ChevronRightIcon />}
          <span className={styles.url}>{url}</span>
        </button>
        <StatusBadge status={status} />
        <span className={styles.facts}>
          {config ? 'A2A task · ' : ''}
          {isOwn ? '' : `for ${sub} · `}
          accepted <Timestamp at={created} /> · {attempts.length} {attempts.length === 1 ? 'attempt' : 'attempts'}
          {next && status === 'pending' && (
            <>
              {' '}
              · next <Timestamp at={next} />
            </>
          )}
        </span>
        <Link href={runAddress(delivery, me)} className={styles.link}>
          Run
        </Link>
        {isOwn && !config && status !== 'delivered' && <Resend delivery={delivery} />}
      </div>
      {isOpen && <Attempts attempts={attempts} />}
    </article>
  )
}

function Resend({ delivery }: { delivery: Delivery }) {
  const mayResend = useMay()('runs.write')
  const resend = useResend()
  if (!mayResend) return null
  const send = (): void =>
    resend.mutate(delivery, {
      onSuccess: () => notify('The callback is being sent again.'),
      onError: (error) => notifyFailure('The callback could not be sent', error),
    })
  return (
    <Button size="compact-sm" variant="default" loading={resend.isPending} onClick={send}>
      Send again
    </Button>
  )
}
