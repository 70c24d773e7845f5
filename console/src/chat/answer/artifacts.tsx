import { Button } from '@mantine/core'
import { FileIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { useMay } from '../../api/me.ts'
import { ArtifactPreview } from '../../parts/artifact/artifact-preview.tsx'
import { pairCharts } from '../../parts/artifact/pair-charts.ts'
import { formatSize, previewOf } from '../../parts/artifact/preview-kind.ts'
import type { Artifact } from '../live/answer.ts'

/** Files of an answer. Pictures are shown at once, other files on demand. */
export function Artifacts({ artifacts }: { artifacts: readonly Artifact[] }) {
  const may = useMay()
  if (!may('artifacts.read')) return null
  return pairCharts(artifacts).map(({ file, png }) => <ArtifactItem key={file.artifact_id} artifact={file} png={png} />)
}

function ArtifactItem({ artifact, png }: { artifact: Artifact; png: Artifact | undefined }) {
  const [isOpen, setIsOpen] = useState(previewOf(artifact.file_type, artifact.file_name) === 'image')
  if (isOpen) return <ArtifactPreview artifact={artifact} png={png} />
  return (
    <div>
      <Button variant="default" size="sm" maw="100%" leftSection={<FileIcon />} onClick={() => setIsOpen(true)}>
        {artifact.file_name.slice(0, 200)} · {formatSize(artifact.size)}
      </Button>
    </div>
  )
}
