import { ChevronDownIcon, ChevronRightIcon } from '@primer/octicons-react'
import { Link } from 'wouter'
import { useMay } from '../api/me.ts'
import { JsonView } from '../parts/json/json-view.tsx'
import { StatusBadge } from '../parts/status-badge.tsx'
import { Timestamp } from '../parts/timestamp.tsx'
import { Fact } from '../run/details/fact.tsx'
import { actionLabels } from './actions.ts'
import type { AuditEvent } from './queries.ts'
import styles from './audit.module.css'

const ways = { api: 'with a key', console: 'in the console', cli: 'on the command line', run: 'a run', service: 'the service' } as const

interface EventRowProps {
  event: AuditEvent
  isOpen: boolean
  onOpen: () => void
}

/** An event in a row that opens to all of its fields. */
export function EventRow({ event, isOpen, onOpen }: EventRowProps) {
  const { at, actor, action, target, outcome, seq } = event
  return (
    <article className={styles.event}>
      <div className={styles.row}>
        <button type="button" className={styles.open} aria-expanded={isOpen} onClick={onOpen}>
          {isOpen ? <ChevronDownIcon /> : <ChevronRightIcon />}
          <span className={styles.action}>{actionLabels[action] ?? action}</span>
          <span className={styles.target}>{target}</span>
        </button>
        {outcome === 'success' ? <span /> : <StatusBadge status={outcome} />}
        <span className={styles.facts}>
          <Timestamp at={at} /> · {actor.sub}, {ways[actor.via]} {seq === null ? '· not sealed yet' : `· seq ${seq}`}
        </span>
      </div>
      {isOpen && <EventDetails event={event} />}
    </article>
  )
}

function EventDetails({ event }: { event: AuditEvent }) {
  const { id, at, actor, action, target, outcome, request_id: requestId, config_version: version, data, seq, hash } = event
  const maySeeRun = useMay()('runs.read')
  return (
    <div className={styles.details}>
      <dl className={styles.fields}>
        <Fact name="Event">{id}</Fact>
        <Fact name="At">
          <Timestamp at={at} isExact />
        </Fact>
        <Fact name="Action">{action}</Fact>
        <Fact name="Target">{target}</Fact>
        <Fact name="Outcome">{outcome}</Fact>
        <Fact name="Actor">{`${actor.sub} (${actor.issuer}), ${ways[actor.via]}`}</Fact>
        {actor.jti !== undefined && <Fact name="Key">{actor.jti}</Fact>}
        {requestId !== null && (
          <Fact name="Run">{maySeeRun ? <Link href={`/runs/${encodeURIComponent(requestId)}`}>{requestId}</Link> : requestId}</Fact>
        )}
        {version !== null && <Fact name="Configuration">{version}</Fact>}
        <Fact name="Seq">{seq ?? 'not sealed yet'}</Fact>
        {hash !== null && <Fact name="Hash">{hash}</Fact>}
      </dl>
      {data !== null && <JsonView value={data} label="Data" />}
    </div>
  )
}
