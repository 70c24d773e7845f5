import { hash } from 'node:crypto'
import { changedPaths } from './change/diff.ts'
import type { ConfigurationFile } from './configuration-file.ts'
import { ConfigError } from './problems.ts'
import { parseSource } from './source.ts'

/** What the configuration file holds, or once held. */
export interface FileVersion {
  /** Names the text: 16 hex digits, which two equal texts have in common. */
  version: string
  /** Since when it was in use, in epoch milliseconds; undefined for the oldest copy, which says only until when. */
  at: number | undefined
  /** Paths of what changed with it. */
  diff: string[]
}

export interface RestoredFile {
  version: string
  diff: string[]
}

/** The file and the copies of what it held before, the file first. */
export async function listFileVersions(file: ConfigurationFile): Promise<FileVersion[]> {
  const versions = await readVersions(file)
  return versions.map(({ text, at }, index) => {
    const before = versions[index + 1]
    return { version: versionOf(text), at, diff: before ? changedPaths(configOf(before.text), configOf(text)) : [] }
  })
}

/**
 * Puts a text of before into the file again, whole, and keeps a copy of what it replaces. A running service takes it up as an edit. Undefined
 * where no copy has this version. Throws `ConfigError` for a text that is no configuration of this program.
 */
export async function restoreFileVersion(version: string, file: ConfigurationFile): Promise<RestoredFile | undefined> {
  const former = (await readVersions(file)).find(({ text }) => versionOf(text) === version)
  if (!former) return undefined
  const { config } = parseSource(former.text)
  const current = await readCurrent(file)
  if (current === undefined) await file.create(former.text)
  else if (current !== former.text) {
    await file.backUp(current)
    await file.replace(current, former.text)
  }
  return { version, diff: current === undefined ? [] : changedPaths(configOf(current), config) }
}

/** Newest first. A copy was made when its text was replaced: then the next one came into use. */
async function readVersions(file: ConfigurationFile): Promise<{ text: string; at: number | undefined }[]> {
  const [current, copies] = await Promise.all([readCurrent(file), file.backups()])
  const texts = [...(current === undefined ? [] : [current]), ...copies.map(({ text }) => text)]
  const starts = current === undefined ? copies.slice(1) : copies
  return texts.map((text, index) => ({ text, at: starts[index]?.at }))
}

async function readCurrent(file: ConfigurationFile): Promise<string | undefined> {
  return file.read().catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

function versionOf(text: string): string {
  return hash('sha256', text).slice(0, 16)
}

/** Undefined for a text that is no configuration: all of the next one has changed then. */
function configOf(text: string): unknown {
  try {
    return parseSource(text).config
  } catch (error) {
    if (error instanceof ConfigError) return undefined
    throw error
  }
}
