import { Button, Modal } from '@mantine/core'
import { FileIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { ArtifactPreview } from '../parts/artifact/artifact-preview.tsx'
import { PagedList } from '../parts/pages/paged-table.tsx'
import { EmptyState } from '../parts/states.tsx'
import { FileRow } from './file-row.tsx'
import { useArtifacts, type Artifact } from './queries.ts'
import styles from './files.module.css'

/** Files that the agent's tools have made in the caller's sessions. */
export function MadeFiles() {
  const artifacts = useArtifacts()
  const [opened, setOpened] = useState<Artifact>()
  return (
    <>
      <PagedList label="Files" pages={artifacts} idOf={({ artifact_id: id }) => id} rowHeight={58} empty={<NoFiles />}>
        {(artifact) => <FileRow artifact={artifact} onOpen={() => setOpened(artifact)} />}
      </PagedList>
      <Modal
        opened={opened !== undefined}
        onClose={() => setOpened(undefined)}
        title={<span className={styles.modalTitle}>{opened?.file_name}</span>}
        size="xl"
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        {opened && <ArtifactPreview artifact={opened} />}
      </Modal>
    </>
  )
}

function NoFiles() {
  const action = (
    <Button component={Link} href="/chat" variant="default">
      Ask the agent
    </Button>
  )
  return (
    <EmptyState icon={FileIcon} title="There are no files yet" action={action}>
      Ask the agent for a chart or for a file with its answer. What its tools make appears here and beside the answer.
    </EmptyState>
  )
}
