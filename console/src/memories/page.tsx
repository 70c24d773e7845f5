import { Text } from '@mantine/core'
import { LightBulbIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { useMay } from '../api/me.ts'
import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { PageHeader } from '../parts/page-header.tsx'
import { PagedList } from '../parts/pages/paged-table.tsx'
import { EmptyState } from '../parts/states.tsx'
import { MemoryRow } from './memory-row.tsx'
import { useDeleteMemory, useMemories, type Memory } from './queries.ts'
import styles from './memories.module.css'

/** Memories about the caller, each with the message of origin. */
export function MemoriesPage() {
  const memories = useMemories()
  const deletion = useDeleteMemory()
  const mayDelete = useMay()('memories.write')
  const [deleting, setDeleting] = useState<Memory>()
  return (
    <>
      <PageHeader title="Memories">What the agent remembers about you. It uses these facts in new conversations.</PageHeader>
      <PagedList label="Memories" pages={memories} idOf={({ id }) => id} rowHeight={76} empty={<NoMemories />}>
        {(memory) => <MemoryRow memory={memory} onDelete={mayDelete ? () => setDeleting(memory) : undefined} />}
      </PagedList>
      <ConfirmDialog
        item={deleting}
        subject="The memory"
        verb={['Delete', 'deleted']}
        mutation={deletion}
        onClose={() => setDeleting(undefined)}
      >
        {({ content }) => (
          <>
            <Text size="sm" mb="xs">
              The agent will no longer know this. It cannot be undone.
            </Text>
            <blockquote className={styles.quote}>{content}</blockquote>
          </>
        )}
      </ConfirmDialog>
    </>
  )
}

function NoMemories() {
  return (
    <EmptyState icon={LightBulbIcon} title="Nothing is remembered yet">
      Rate an answer with a comment, and the agent keeps what it learns from you. Programs can also ask it to remember a chat. What it
      remembers appears here, and you can delete it.
    </EmptyState>
  )
}
