import type { ArtifactBytes } from './artifact-store.ts'

/** Files of direct executions are stored for a day, in one folder per execution. */
const directFolder = 'direct-'
const directMs = 24 * 3_600_000
/** Younger folders are left alone: the session of a folder is stored before or shortly after the folder. */
const youngMs = 3_600_000
const batchSize = 200
/** Session keys, and ids of executions and uploads are UUIDs; other names in a shared place are foreign and never removed. */
const ours = /^(direct-|upload-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export function directFolderOf(id: string): string {
  return directFolder + id
}

interface SweepOptions {
  bytes: ArtifactBytes
  /** Returns the folders whose session or upload still exists. */
  existing(folders: readonly string[]): Promise<ReadonlySet<string>>
  now(): number
}

/**
 * Removes files of deleted sessions and uploads, old files of direct executions, and incomplete files. Returns the number
 * of removed folders.
 */
export async function sweepArtifacts({ bytes, existing, now }: SweepOptions): Promise<number> {
  let removed = 0
  let candidates: string[] = []

  async function remove(names: readonly string[]): Promise<void> {
    for (const name of names) await bytes.deleteAll(name)
    removed += names.length
  }

  async function removeGone(): Promise<void> {
    const existingKeys = await existing(candidates)
    await remove(candidates.filter((key) => !existingKeys.has(key)))
    candidates = []
  }

  for await (const { name, changedAt } of bytes.folders()) {
    if (!ours.test(name)) continue
    const isDirect = name.startsWith(directFolder)
    if (changedAt >= now() - (isDirect ? directMs : youngMs)) continue
    if (isDirect) await remove([name])
    else candidates.push(name)
    if (candidates.length === batchSize) await removeGone()
  }
  if (candidates.length > 0) await removeGone()
  await bytes.dropDrafts?.(now() - youngMs)
  return removed
}
