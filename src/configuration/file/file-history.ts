import { hash } from 'node:crypto'
import { changedPaths } from '../change/merge.ts'
import { readIfPresent, type ConfigurationFile } from '../configuration-store.ts'
import { parseSource, type ConfigurationSource } from '../change/change.ts'
import { configOf } from './file-record.ts'

/** A present or former text of the configuration file. */
export interface FileVersion {
  /** A hash of the text (16 hex digits). Equal texts have equal versions. */
  version: string
  /** The start of use in epoch milliseconds. Undefined for the oldest backup, for which only the end of use is known. */
  at: number | undefined
  /** Paths of the values changed by the version. */
  diff: string[]
}

export interface RestoredFile {
  version: string
  diff: string[]
}

/** The versions of the file: the present text first, then the backups, newest first. */
export async function listFileVersions(file: ConfigurationFile): Promise<FileVersion[]> {
  const versions = await readVersions(file)
  return versions.map(({ text, at }, index) => {
    const before = versions[index + 1]
    return { version: versionOf(text), at, diff: before ? changedPaths(configOf(before), configOf({ text })) : [] }
  })
}

/**
 * Writes a former text back into the file atomically, and backs up the replaced text. A running service takes over the text as an edit.
 * Returns undefined when no backup has this version. Throws `ConfigError` for a text that is not a valid configuration. `admit` may refuse the
 * text, and runs before the file is written.
 */
export async function restoreFileVersion(
  version: string,
  file: ConfigurationFile,
  admit: (former: ConfigurationSource) => Promise<void>,
): Promise<RestoredFile | undefined> {
  const found = (await readVersions(file)).find(({ text }) => versionOf(text) === version)
  if (!found) return undefined
  const former = parseSource(found.text)
  await admit(former)
  const current = await readIfPresent(file)
  if (current === undefined) await file.create(former.text)
  else {
    if (current !== former.text) await file.backUp(current)
    // The same text is written too: the service then looks again at an edit that was refused.
    await file.replace(current, former.text)
  }
  return { version, diff: current === undefined ? [] : changedPaths(configOf({ text: current }), former.config) }
}

/** Newest first. A backup is made when a text is replaced, so the time of a backup is the start of the following version. */
async function readVersions(file: ConfigurationFile): Promise<{ text: string; at: number | undefined }[]> {
  const [current, copies] = await Promise.all([readIfPresent(file), file.backups()])
  const texts = [...(current === undefined ? [] : [current]), ...copies.map(({ text }) => text)]
  const starts = current === undefined ? copies.slice(1) : copies
  return texts.map((text, index) => ({ text, at: starts[index]?.at }))
}

function versionOf(text: string): string {
  return hash('sha256', text).slice(0, 16)
}
