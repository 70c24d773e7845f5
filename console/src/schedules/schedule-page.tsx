import { Link } from 'wouter'
import { statusOf } from '../api/errors.ts'
import { PageHeader } from '../parts/page-header.tsx'
import { PageSkeleton } from '../parts/skeletons.tsx'
import { FailedState } from '../parts/states.tsx'
import { StatusBadge } from '../parts/status-badge.tsx'
import { formatInZone } from '../parts/time-format.ts'
import { Timestamp } from '../parts/timestamp.tsx'
import { usePathId } from '../parts/use-path-id.ts'
import { Actions } from './actions.tsx'
import { browserZone, questionOf } from './draft.ts'
import { History } from './history.tsx'
import { useSchedule, type Schedule, type VersionedSchedule } from './queries.ts'
import { NextTimes } from './times.tsx'
import { When } from './when.tsx'
import styles from './schedules.module.css'

/** A schedule: times, question, history and actions. */
export function SchedulePage() {
  const id = usePathId('id') ?? ''
  const schedule = useSchedule(id)
  if (schedule.data) return <Content schedule={schedule.data} />
  if (!schedule.error) return <PageSkeleton />
  if (statusOf(schedule.error) === 404) {
    const text = "It may have ended long ago, or be another caller's: only its owner and administrators can open it."
    return <FailedState title="There is no such schedule" text={text} />
  }
  return <FailedState title="The schedule could not be loaded" error={schedule.error} retry={() => void schedule.refetch()} />
}

function Content({ schedule }: { schedule: VersionedSchedule }) {
  const { id, name, cron, timezone, status } = schedule
  const question = questionOf(schedule)
  return (
    <>
      <PageHeader title={name} actions={<Actions schedule={schedule} />}>
        <Facts schedule={schedule} />
      </PageHeader>
      <div className={styles.body}>
        {question !== '' && <blockquote className={styles.question}>{question.slice(0, 5000)}</blockquote>}
        {cron !== undefined && status === 'active' && <NextTimes cron={cron} timezone={timezone ?? 'UTC'} />}
        <Link href="/runs?operation=schedule" className={styles.link}>
          Runs of all schedules
        </Link>
      </div>
      <History id={id} />
    </>
  )
}

const overlapTexts: Record<Schedule['overlap'], string> = {
  skip: 'Times are left out while a run goes on',
  queue: 'One time waits while a run goes on',
  cancel_running: 'A new run cancels the run before',
  allow: 'Runs may overlap',
}

function Facts({ schedule }: { schedule: Schedule }) {
  const { status, pause_reason: reason, next_at: next, timezone, overlap, sub, issuer, max_fires: maxFires } = schedule
  const callbackUrl = schedule.request['callback_url']
  return (
    <div className={styles.facts}>
      <StatusBadge status={status} />
      {reason !== undefined && <span>{pauseTexts[reason] ?? reason.slice(0, 200)}</span>}
      <span>
        <When schedule={schedule} />
      </span>
      {next !== null && status === 'active' && (
        <span>
          Next <Timestamp at={next} />
          {timezone !== undefined && timezone !== browserZone && `, ${formatInZone(new Date(next), timezone)} there`}
        </span>
      )}
      <span title={issuer}>{sub}</span>
      <span>{overlapTexts[overlap]}</span>
      {maxFires !== undefined && <span>Ends after {maxFires} runs</span>}
      {typeof callbackUrl === 'string' && <span title={callbackUrl.slice(0, 500)}>Answers go to {callbackUrl.slice(0, 200)}</span>}
    </div>
  )
}

const pauseTexts: Readonly<Record<string, string>> = {
  key_revoked: 'the key that it was made with is revoked or expired: resume it with another key',
  owner_away: 'its owner was not seen for too long',
  failures: 'too many runs in a row have failed',
}
