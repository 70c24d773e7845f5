import { BeakerIcon } from '@primer/octicons-react'
import type { ReactNode } from 'react'
import { PagedTable, type Column } from '../../parts/pages/paged-table.tsx'
import { EmptyState } from '../../parts/states.tsx'
import { Timestamp } from '../../parts/timestamp.tsx'
import { datasetHref } from '../addresses.ts'
import { useDatasets, type Dataset } from '../queries.ts'
import styles from '../evals.module.css'

const columns: readonly Column<Dataset>[] = [
  { header: 'Name', width: 'minmax(140px, 1fr)', phone: 'minmax(0, 1fr)', cell: ({ name }) => name },
  {
    header: 'Description',
    width: 'minmax(160px, 2fr)',
    cell: ({ description }) => <span title={description.slice(0, 500)}>{description.slice(0, 200)}</span>,
  },
  {
    header: 'Examples',
    width: '90px',
    phone: '80px',
    align: 'end',
    cell: ({ examples }) => <span className={styles.number}>{examples.toLocaleString('en')}</span>,
  },
  { header: 'Revision', width: '84px', align: 'end', cell: ({ revision }) => <span className={styles.number}>{revision}</span> },
  { header: 'Changed', width: '120px', phone: '92px', cell: ({ updated_at: at }) => <Timestamp at={at} /> },
]

export function DatasetList({ action }: { action: ReactNode }) {
  return (
    <PagedTable
      label="Datasets"
      pages={useDatasets()}
      columns={columns}
      idOf={({ id }) => id}
      hrefOf={({ id }) => datasetHref(id)}
      empty={
        <EmptyState icon={BeakerIcon} title="There are no datasets" action={action}>
          A dataset holds examples of what the agent is asked. Make one here, then add runs to it: open a run and choose "Add to dataset".
        </EmptyState>
      }
    />
  )
}
