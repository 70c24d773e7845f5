import { Text } from '@mantine/core'
import { BookIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { useMay } from '../api/me.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { PagedList } from '../parts/pages/paged-table.tsx'
import { EmptyState } from '../parts/states.tsx'
import { DocumentDrop } from './document-drop.tsx'
import { DocumentRow } from './document-row.tsx'
import { useDeleteDocument, useDocuments, type Document } from './queries.ts'

/** The documents of the tenant: states, an area to drop new documents, and removal. */
export function Documents() {
  const documents = useDocuments()
  const deletion = useDeleteDocument()
  const mayWrite = useMay()('knowledge.write')
  const [deleting, setDeleting] = useState<Document>()
  return (
    <>
      {mayWrite && <DocumentDrop />}
      <PagedList label="Documents" pages={documents} idOf={({ id }) => id} rowHeight={58} empty={<NoDocuments mayWrite={mayWrite} />}>
        {(document) => <DocumentRow document={document} onDelete={mayWrite ? () => setDeleting(document) : undefined} />}
      </PagedList>
      <ConfirmDialog
        item={deleting}
        subject="The document"
        verb={['Delete', 'deleted']}
        mutation={deletion}
        onClose={() => setDeleting(undefined)}
      >
        {({ name }) => (
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            The agent no longer finds “{name.slice(0, 200)}”, for anybody. Earlier answers stay. It cannot be undone.
          </Text>
        )}
      </ConfirmDialog>
    </>
  )
}

function NoDocuments({ mayWrite }: { mayWrite: boolean }) {
  return (
    <EmptyState icon={BookIcon} title="There are no documents yet">
      {mayWrite
        ? 'Drop handbooks, rules, reports or tables above. Everybody who asks the agent gets answers from them, with the place in the document.'
        : 'An administrator adds handbooks, rules or reports here, and the agent answers from them. Your own files go into the chat: choose + beside your question.'}
    </EmptyState>
  )
}
