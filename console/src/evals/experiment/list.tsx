import { BeakerIcon } from '@primer/octicons-react'
import { PagedTable, type Column } from '../../parts/pages/paged-table.tsx'
import { EmptyState } from '../../parts/states.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { Timestamp } from '../../parts/timestamp.tsx'
import { experimentHref } from '../addresses.ts'
import { hasEnded, useExperiments, type Experiment } from '../experiment-queries.ts'
import { describeEffects, describeVariants } from './words.ts'
import styles from '../evals.module.css'

const columns: readonly Column<Experiment>[] = [
  {
    header: 'Dataset',
    width: 'minmax(120px, 1fr)',
    phone: 'minmax(0, 1fr)',
    cell: ({ datasets }) => datasets.map(({ name }) => name).join(', '),
  },
  { header: 'Variants', width: 'minmax(150px, 1.3fr)', cell: (experiment) => describeVariants(experiment) },
  { header: 'State', width: '116px', phone: '100px', cell: (experiment) => <Verdict experiment={experiment} /> },
  {
    header: 'Done',
    width: '92px',
    align: 'end',
    cell: ({ done, total }) => (
      <span className={styles.number}>
        {done} of {total}
      </span>
    ),
  },
  { header: 'Proposed writes', width: 'minmax(210px, 1.2fr)', phone: '90px', cell: ({ effects }) => describeEffects(effects) },
  { header: 'Created', width: '110px', cell: ({ created_at: at }) => <Timestamp at={at} /> },
]

export function ExperimentList() {
  return (
    <PagedTable
      label="Experiments"
      pages={useExperiments()}
      columns={columns}
      idOf={({ id }) => id}
      hrefOf={({ id }) => experimentHref(id)}
      minWidth={860}
      empty={
        <EmptyState icon={BeakerIcon} title="There are no experiments">
          An experiment replays the examples of a dataset, with one or two configurations. Open a dataset and choose "New experiment".
        </EmptyState>
      }
    />
  )
}

/** The verdict of a completed experiment, else its state. */
export function Verdict({ experiment }: { experiment: Experiment }) {
  const { status, verdict, error } = experiment
  if (hasEnded(experiment) && verdict === 'passed') return <StatusBadge status="success" label="passed" />
  if (hasEnded(experiment) && verdict === 'failed') return <StatusBadge status="failed" label="not passed" />
  return <StatusBadge status={status} title={error?.slice(0, 200)} />
}
