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
  /** The version in use: the previous version if nothing changed. */
  version: string
  /** Paths of the changed values. */
  diff: string[]
}

/**
 * Stores a former configuration again. Changes in memory only stay in effect. Returns undefined for an unknown version. Throws `ConfigError`
 * when this program cannot use the former configuration.
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
    const restored = await latest.add({ ...next, version: newVersion(), kind: 'restore', at: now(), diff }, newest)
    if (restored) return { version: restored.version, diff }
  }
}

/** The newest configuration, also if this program cannot use the configuration: restoring a former version is the remedy. */
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
