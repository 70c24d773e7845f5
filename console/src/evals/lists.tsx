import { useMay } from '../api/me.ts'
import { PageHeader } from '../parts/page-header.tsx'
import { DatasetList } from './dataset/list.tsx'
import { NewDatasetButton } from './dataset/dialogs.tsx'

/** The datasets of the tenant. */
export function ListsPage() {
  const create = useMay()('evals.write') && <NewDatasetButton />
  return (
    <>
      <PageHeader title="Evals" actions={create}>
        Questions from real runs, and experiments that replay them with another configuration. No call that changes something is executed.
      </PageHeader>
      <DatasetList action={create} />
    </>
  )
}
