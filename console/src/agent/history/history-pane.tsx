import { HistoryIcon } from '@primer/octicons-react'
import { useMemo, useState } from 'react'
import { PagedList } from '../../parts/pages/paged-table.tsx'
import { EmptyState } from '../../parts/states.tsx'
import { useHistory, type StoredText, type Version } from '../queries.ts'
import { RestoreDialog } from './restore-dialog.tsx'
import { VersionRow } from './version-row.tsx'

interface HistoryPaneProps {
  stored: StoredText
  mayRestore: boolean
  hasDraft: boolean
}

/** All recorded versions: time, author, operation and changes. */
export function HistoryPane({ stored, mayRestore, hasDraft }: HistoryPaneProps) {
  const versions = useHistory()
  const before = useMemo(
    () => new Map(versions.rows.map(({ version }, index) => [version, versions.rows[index + 1]?.version])),
    [versions.rows],
  )
  /** Rows that are scrolled out of view stay open. */
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set())
  const [restored, setRestored] = useState<Version>()
  return (
    <>
      <PagedList label="Versions" pages={versions} idOf={({ version }) => version} rowHeight={72} empty={<NoVersions />}>
        {(version) => (
          <VersionRow
            version={version}
            before={before.get(version.version)}
            isOpen={open.has(version.version)}
            onToggle={() => setOpen((before) => toggle(before, version.version))}
            isCurrent={version.version === stored.version}
            onRestore={mayRestore ? () => setRestored(version) : undefined}
          />
        )}
      </PagedList>
      <RestoreDialog version={restored} current={stored} hasDraft={hasDraft} onClose={() => setRestored(undefined)} />
    </>
  )
}

function toggle(open: ReadonlySet<string>, version: string): ReadonlySet<string> {
  return open.has(version) ? new Set([...open].filter((name) => name !== version)) : new Set([...open, version])
}

function NoVersions() {
  return (
    <EmptyState icon={HistoryIcon} title="No version is recorded yet">
      Each change of the agent appears here, whoever makes it and however, and can be undone from here.
    </EmptyState>
  )
}
