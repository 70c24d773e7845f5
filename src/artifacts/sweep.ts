import type { ArtifactBytes } from './artifact-bytes.ts'

/** Files of direct executions are kept for a day, each execution's in a folder of its own. */
const directFolder = 'direct-'
const directMs = 24 * 3_600_000
/** The session of a folder is stored before or shortly after the folder is made. */
const youngMs = 3_600_000
const batchSize = 200
/** Keys of sessions and ids of executions are UUIDs; what else lies in a place that is shared is not ours to remove. */
const ours = /^(direct-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export function directFolderOf(id: string): string {
  return directFolder + id
}

export interface SweepOptions {
  bytes: ArtifactBytes
  /** Which of these session keys there still are. */
  existing(keys: readonly string[]): Promise<ReadonlySet<string>>
  now(): number
}

/** Removes the files of sessions that are gone, old ones of direct executions, and what was never written whole. Answers with the number of folders. */
export async function sweepArtifacts({ bytes, existing, now }: SweepOptions): Promise<number> {
  let removed = 0
  let asked: string[] = []

  async function remove(names: readonly string[]): Promise<void> {
    for (const name of names) await bytes.deleteAll(name)
    removed += names.length
  }

  async function removeGone(): Promise<void> {
    const there = await existing(asked)
    await remove(asked.filter((key) => !there.has(key)))
    asked = []
  }

  for await (const { name, changedAt } of bytes.folders()) {
    if (!ours.test(name)) continue
    const isDirect = name.startsWith(directFolder)
    if (changedAt >= now() - (isDirect ? directMs : youngMs)) continue
    if (isDirect) await remove([name])
    else asked.push(name)
    if (asked.length === batchSize) await removeGone()
  }
  if (asked.length > 0) await removeGone()
  await bytes.dropDrafts?.(now() - youngMs)
  return removed
}
