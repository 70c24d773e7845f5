import { useMay } from '../api/me.ts'
import { PageHeader } from '../parts/page-header.tsx'
import { PageTabs } from '../parts/page-tabs.tsx'
import { Documents } from './documents.tsx'
import { MadeFiles } from './made-files.tsx'

/** Files that the agent has made for the caller, and documents that the agent reads for everybody. */
export function FilesPage() {
  const may = useMay()
  const made = { value: 'made', label: 'Made by the agent', content: <MadeFiles /> }
  const documents = { value: 'documents', label: 'Documents', content: <Documents /> }
  return (
    <>
      <PageHeader title="Files">What the agent has made for you, and the documents that it looks things up in.</PageHeader>
      <PageTabs tabs={[...(may('artifacts.read') ? [made] : []), ...(may('knowledge.read') ? [documents] : [])]} />
    </>
  )
}
