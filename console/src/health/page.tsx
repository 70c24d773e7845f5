import type { ReactNode } from 'react'
import { statusOf } from '../api/errors.ts'
import { PageHeader } from '../parts/page-header.tsx'
import { RowsSkeleton } from '../parts/skeletons.tsx'
import { FailedState } from '../parts/states.tsx'
import { Timestamp } from '../parts/timestamp.tsx'
import { CheckList } from './check-list.tsx'
import { JobTable } from './job-table.tsx'
import { useStatus, type ServiceStatus } from './queries.ts'
import { ReplicaTable } from './replica-table.tsx'
import { summarize } from './summary.ts'
import styles from './health.module.css'

/** Findings of the service's checks, processes and jobs. */
export function HealthPage() {
  const { data: status, error, refetch } = useStatus()
  return (
    <>
      <PageHeader title="Health">
        {status ? <Facts status={status} /> : 'The checks of the service, its processes and its jobs.'}
      </PageHeader>
      <div className={styles.body}>
        {!status && !error && <RowsSkeleton />}
        {!status && error && <Failure error={error} retry={() => void refetch()} />}
        {status && (
          <>
            <Part title="Checks">
              <CheckList checks={status.checks} />
            </Part>
            <Part title="Processes">
              <ReplicaTable replicas={status.replicas} version={status.version} />
            </Part>
            <Part title="Jobs">
              <JobTable jobs={status.jobs} />
            </Part>
          </>
        )}
      </div>
    </>
  )
}

function Facts({ status: { checks, version, checked_at: checkedAt } }: { status: ServiceStatus }) {
  return (
    <span className={styles.facts}>
      <b role="status">{summarize(checks)}</b>
      <span>Version {version}</span>
      <span>
        Checked <Timestamp at={checkedAt} />
      </span>
    </span>
  )
}

function Failure({ error, retry }: { error: Error; retry: () => void }) {
  if (statusOf(error) !== 403) return <FailedState title="The health could not be loaded" error={error} retry={retry} />
  return (
    <FailedState
      title="Your key does not permit this"
      text="The health covers all tenants. It is shown to keys of the administrators' tenant with observability.read."
    />
  )
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title}>
      <h2 className={styles.title}>{title}</h2>
      {children}
    </section>
  )
}
