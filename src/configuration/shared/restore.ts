import { changedPaths } from '../change/diff.ts'
import { editState } from '../change/state.ts'
import type { ConfigurationStore } from '../configuration-store.ts'
import { ConfigError } from '../problems.ts'
import { parseSource } from '../source.ts'
import { createLatestConfiguration, type LatestConfiguration } from './latest-configuration.ts'

interface RestoreDependencies {
  store: ConfigurationStore
  newVersion(): string
  now(): number
}

export interface RestoredConfiguration {
  /** The one that is in use now: the one before where nothing is different. */
  version: string
  /** Paths of what changed. */
  diff: string[]
}

/**
 * Stores a former configuration again; what was changed in memory alone stays so. Undefined where there is none of this version. Throws
 * `ConfigError` where this program can't use it.
 */
export async function restoreConfiguration(
  version: string,
  { store, newVersion, now }: RestoreDependencies,
): Promise<RestoredConfiguration | undefined> {
  const former = await store.find(version)
  if (!former) return undefined
  const latest = createLatestConfiguration(store)
  const stored = parseSource(former.text)
  for (;;) {
    const newest = await readNewest(latest, store)
    if (newest.stored?.text === former.text) return { version: newest.version, diff: [] }
    const next = newest.stored ? editState(newest, newest.stored.data, stored) : { stored, used: stored }
    const diff = changedPaths(newest.used?.config, next.used.config)
    const known = await latest.add({ ...next, version: newVersion(), kind: 'restore', at: now(), diff }, newest)
    if (known) return { version: known.version, diff }
  }
}

/** One that this program can't use is what a former one may be wanted in the place of. */
async function readNewest(latest: LatestConfiguration, store: ConfigurationStore) {
  try {
    return await latest.read()
  } catch (error) {
    const row = error instanceof ConfigError ? await store.newest() : undefined
    if (!row) throw error
    const { n, version, storedVersion } = row
    return { n, version, storedVersion, stored: undefined, used: undefined }
  }
}
