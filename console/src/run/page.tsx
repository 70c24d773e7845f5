import { useSearchParams } from 'wouter'
import { statusOf } from '../api/errors.ts'
import { PageHeader } from '../parts/page-header.tsx'
import { PageSkeleton, RowsSkeleton } from '../parts/skeletons.tsx'
import { FailedState } from '../parts/states.tsx'
import { usePathId } from '../parts/use-path-id.ts'
import { Actions } from './actions.tsx'
import { Answer } from './answer.tsx'
import { Delivery } from './delivery.tsx'
import { Facts } from './facts.tsx'
import { hasEnded, useRun, useSummary, useTrace, type RunKey } from './queries.ts'
import { Timeline } from './timeline/timeline.tsx'
import styles from './run.module.css'

/** A run: question and answer, timeline, and actions. Live until the end of the run. */
export function RunPage() {
  const id = usePathId('id') ?? ''
  const [search] = useSearchParams()
  const key: RunKey = { id, issuer: search.get('issuer') ?? undefined, sub: search.get('sub') ?? undefined }
  const run = useRun(key)
  const summary = useSummary(key, run.data).data
  if (!run.data && run.error) return <MissingRun error={run.error} retry={() => void run.refetch()} />
  if (!run.data) return <PageSkeleton />
  return (
    <>
      <PageHeader title="Run" actions={<Actions runKey={key} run={run.data} summary={summary ?? undefined} />}>
        <Facts runKey={key} run={run.data} summary={summary ?? undefined} />
      </PageHeader>
      <div className={styles.body}>
        <Answer run={run.data} question={run.data.outcome?.input ?? summary?.input ?? undefined} />
        {run.data.callback && <Delivery runKey={key} callback={run.data.callback} />}
      </div>
      <Steps runKey={key} isLive={!hasEnded(run.data)} />
    </>
  )
}

function Steps({ runKey, isLive }: { runKey: RunKey; isLive: boolean }) {
  const trace = useTrace(runKey, isLive)
  if (trace.data) return <Timeline run={runKey} trace={trace.data} loadedAt={trace.dataUpdatedAt} />
  if (trace.error) return <FailedState title="The timeline could not be loaded" error={trace.error} retry={() => void trace.refetch()} />
  return (
    <div className={styles.body}>
      <RowsSkeleton />
    </div>
  )
}

function MissingRun({ error, retry }: { error: unknown; retry: () => void }) {
  const status = statusOf(error)
  if (status === 404) {
    const text = "The run may have been removed, or it is another caller's: only its caller and administrators can open it."
    return <FailedState title="There is no such run" text={text} />
  }
  if (status === 410)
    return <FailedState title="This run has been removed" text="Its retention time is over, or its session was deleted." />
  return <FailedState title="The run could not be loaded" error={error} retry={retry} />
}
