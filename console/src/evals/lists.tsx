import { useMay } from '../api/me.ts'
import { PageHeader } from '../parts/page-header.tsx'
import { PageTabs } from '../parts/page-tabs.tsx'
import { NewDatasetButton } from './dataset/dialogs.tsx'
import { DatasetList } from './dataset/list.tsx'
import { ExperimentList } from './experiment/list.tsx'

/** The datasets and the experiments of the tenant. */
export function ListsPage() {
  const create = useMay()('evals.write') && <NewDatasetButton />
  return (
    <>
      <PageHeader title="Evals" actions={create}>
        Questions from real runs, and experiments that replay them with another configuration. No call that changes something is executed.
      </PageHeader>
      <PageTabs
        tabs={[
          { value: 'datasets', label: 'Datasets', content: <DatasetList action={create} /> },
          { value: 'experiments', label: 'Experiments', content: <ExperimentList /> },
        ]}
      />
    </>
  )
}
