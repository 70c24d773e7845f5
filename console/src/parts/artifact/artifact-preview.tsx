import { Button, Group, Table, Text } from '@mantine/core'
import { DownloadIcon } from '@primer/octicons-react'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import { client } from '../../api/client.ts'
import { CutText } from '../cut-text.tsx'
import { JsonView } from '../json/json-view.tsx'
import { RowsSkeleton } from '../skeletons.tsx'
import { saveBlob } from '../save-file.ts'
import { FailedState } from '../states.tsx'
import { parseCsv } from './csv.ts'
import { formatSize, previewOf } from './preview-kind.ts'
import styles from './artifact.module.css'

export interface ArtifactFile {
  artifact_id: string
  file_name: string
  /** Media type. */
  file_type: string
  /** Bytes. */
  size: number
}

const maxPreviewBytes = 10_000_000
const maxRows = 200

async function loadContent(artifactId: string, signal?: AbortSignal): Promise<Blob> {
  const response = await client.send('GET', '/core/v1/artifacts/{artifact_id}/content', { path: { artifact_id: artifactId }, signal })
  return response.blob()
}

/** A file of the agent: the content, if the browser can show the type, and a download button. A chart with a PNG is drawn in the colours of the page. */
export function ArtifactPreview({ artifact, png }: { artifact: ArtifactFile; png?: ArtifactFile | undefined }) {
  const { artifact_id, file_name, file_type, size } = artifact
  const kind = previewOf(file_type, file_name)
  const isShown = kind !== 'none' && size <= maxPreviewBytes
  const content = useQuery({
    queryKey: ['artifact', artifact_id],
    queryFn: ({ signal }) => loadContent(artifact_id, signal),
    enabled: isShown,
    staleTime: Infinity,
  })
  return (
    <figure className={styles.artifact}>
      <figcaption className={styles.caption}>
        <span className={styles.name} title={file_name}>
          {file_name}
        </span>
        <Text span size="xs" c="dimmed">
          {formatSize(size)}
        </Text>
        <DownloadButton artifact={artifact} label={png && 'SVG'} />
        {png && <DownloadButton artifact={png} label="PNG" />}
      </figcaption>
      {isShown && content.data && <Content blob={content.data} kind={kind} artifact={artifact} isChart={png !== undefined} />}
      {isShown && content.isPending && <RowsSkeleton count={3} />}
      {isShown && content.isError && (
        <FailedState title="The file could not be loaded" error={content.error} retry={() => void content.refetch()} />
      )}
    </figure>
  )
}

function DownloadButton({ artifact, label = 'Download' }: { artifact: ArtifactFile; label?: string | undefined }) {
  const download = async () => saveBlob(await loadContent(artifact.artifact_id), artifact.file_name)
  return (
    <Button
      size="compact-xs"
      variant="subtle"
      color="gray"
      leftSection={<DownloadIcon size={14} />}
      onClick={() => void download()}
      aria-label={label === 'Download' ? undefined : `Download as ${label}`}
    >
      {label}
    </Button>
  )
}

interface ContentProps {
  blob: Blob
  kind: ReturnType<typeof previewOf>
  artifact: ArtifactFile
}

function Content({ blob, kind, artifact, isChart }: ContentProps & { isChart: boolean }) {
  if (kind === 'image') return <Picture blob={blob} artifact={artifact} isChart={isChart} />
  if (kind === 'page') return <Page blob={blob} name={artifact.file_name} />
  return <TextContent blob={blob} kind={kind} artifact={artifact} />
}

function Picture({ blob, artifact, isChart }: { blob: Blob; artifact: ArtifactFile; isChart: boolean }) {
  const address = useBlobAddress(useMemo(() => new Blob([blob], { type: artifact.file_type }), [blob, artifact.file_type]))
  // Scripts in an SVG do not run in an `img`, and it loads nothing.
  return <img className={styles.picture} data-chart={isChart} src={address} alt={artifact.file_name} />
}

/** A page in a frame without permissions: no scripts, no requests, no origin. */
function Page({ blob, name }: { blob: Blob; name: string }) {
  const address = useBlobAddress(useMemo(() => new Blob([blob], { type: 'text/html' }), [blob]))
  return <iframe className={styles.frame} src={address} sandbox="" referrerPolicy="no-referrer" title={name} />
}

function TextContent({ blob, kind, artifact }: ContentProps) {
  const text = useQuery({ queryKey: ['artifact', artifact.artifact_id, 'text'], queryFn: () => blob.text(), staleTime: Infinity }).data
  if (text === undefined) return null
  if (kind === 'table') return <CsvTable text={text} />
  if (kind === 'json') {
    const value = parse(text)
    if (typeof value === 'object' && value !== null) return <JsonView value={value} label={artifact.file_name} />
  }
  return <CutText text={text} label={artifact.file_name} fileName={artifact.file_name} />
}

function CsvTable({ text }: { text: string }) {
  const [head = [], ...rows] = useMemo(() => parseCsv(text, maxRows + 1), [text])
  return (
    <div className={styles.table} role="region" aria-label="Table" tabIndex={0}>
      <Table striped={false} withRowBorders fz="sm" data={{ head, body: rows }} />
      {rows.length >= maxRows && (
        <Group p="xs">
          <Text size="xs" c="dimmed">
            The first {maxRows} rows. The download contains all.
          </Text>
        </Group>
      )}
    </div>
  )
}

function useBlobAddress(blob: Blob): string {
  const address = useMemo(() => URL.createObjectURL(blob), [blob])
  useEffect(() => {
    // A development build mounts twice: the address is released only after the picture had time to load.
    return () => void setTimeout(() => URL.revokeObjectURL(address), 60_000)
  }, [address])
  return address
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
