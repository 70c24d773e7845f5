import type { ArtifactBytes } from './artifact-bytes.ts'

/** Files of direct executions are kept for a day, each execution's in a folder of its own. */
const directFolder = 'direct-'
const directMs = 24 * 3_600_000
/** The session of a folder is stored before or shortly after the folder is made. */
const youngMs = 3_600_000
const batchSize = 200

export function directFolderOf(id: string): string {
  return directFolder + id
}

export interface SweepOptions {
  bytes: ArtifactBytes
  /** Which of these session keys there still are. */
  existing(keys: readonly string[]): Promise<ReadonlySet<string>>
  now(): number
}

/** Removes the files of sessions that are gone, and old ones of direct executions. Answers with the number of folders. */
export async function sweepArtifacts({ bytes, existing, now }: SweepOptions): Promise<number> {
  const folders = await bytes.folders()
  const isDirect = (name: string) => name.startsWith(directFolder)
  const doomed = folders.filter(({ name, changedAt }) => isDirect(name) && changedAt < now() - directMs).map(({ name }) => name)
  const ofSessions = folders.filter(({ name, changedAt }) => !isDirect(name) && changedAt < now() - youngMs).map(({ name }) => name)
  for (let at = 0; at < ofSessions.length; at += batchSize) {
    const batch = ofSessions.slice(at, at + batchSize)
    const there = await existing(batch)
    doomed.push(...batch.filter((key) => !there.has(key)))
  }
  for (const name of doomed) await bytes.deleteAll(name)
  return doomed.length
}
