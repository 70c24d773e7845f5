import type { ActingIn } from '../../audit/acts.ts'
import { toContent, parseSource } from '../change/change.ts'
import { overrideOrThrow, type Gate, type GateOverride } from '../change/gate.ts'
import { type ConfigurationState, editState } from '../change/state.ts'
import { isAudited, type ChangeKind, type ConfigurationStore, type StoredConfiguration } from '../configuration-store.ts'
import { changedPaths } from '../change/merge.ts'
import { ConfigError } from '../problems.ts'
import type { SkillPins } from '../skills/pins.ts'

/** A configuration of the store, parsed. All processes share this configuration. */
export interface LoadedConfiguration extends ConfigurationState {
  /** Increases with each change. */
  readonly n: number
  readonly version: string
  /** The version of the stored configuration in the store. */
  readonly storedVersion: string
  /** The time of the change in epoch milliseconds. */
  readonly since: number
  /** The pinned skills. */
  readonly pins: SkillPins | undefined
}

/** A new configuration that follows a loaded configuration. */
export interface ConfigurationChange extends ConfigurationState {
  version: string
  kind: ChangeKind
  at: number
  /** The text of the edited file. */
  file?: string
  diff: readonly string[]
  actor?: ActingIn
  override?: GateOverride
  skills: SkillPins | undefined
}

/** The newest configuration, which other processes may change too. */
export function createLatestConfiguration(store: ConfigurationStore) {
  let cached: LoadedConfiguration | undefined

  /** Reads the newest configuration from the store. Throws `ConfigError` when this program cannot use the configuration. */
  async function read(): Promise<LoadedConfiguration> {
    const n = await store.newestNumber()
    if (cached?.n === n) return cached
    const row = await store.newest()
    if (!row) throw new Error('The database no longer has a configuration.')
    return cache(parse(row))
  }

  function cache(next: LoadedConfiguration): LoadedConfiguration {
    if (!cached || next.n > cached.n) cached = next
    return next
  }

  /** Undefined when another process added a configuration first. */
  async function add(
    change: ConfigurationChange,
    after: Pick<LoadedConfiguration, 'n' | 'storedVersion'>,
  ): Promise<LoadedConfiguration | undefined> {
    const row = toRow(change, after)
    if (!(await store.add(row, after.n))) return undefined
    // The stored row is parsed here as in every process, so all processes show the same order of keys.
    return cache(parse({ ...row, n: after.n + 1 }))
  }

  return { read, add }
}

export type LatestConfiguration = ReturnType<typeof createLatestConfiguration>

function parse({ n, version, storedVersion, text, used, at, skills }: StoredConfiguration): LoadedConfiguration {
  const stored = parseSource(text)
  return { n, version, storedVersion, since: at, stored, used: used ? toContent(used) : stored, pins: skills }
}

function toRow({ stored, used, file, skills, ...rest }: ConfigurationChange, after: Pick<LoadedConfiguration, 'storedVersion'>) {
  const isStored = rest.kind !== 'memory' && rest.kind !== 'start'
  const storedVersion = isStored ? rest.version : after.storedVersion
  return {
    ...rest,
    storedVersion,
    text: stored.text,
    isAudited: isAudited(used.config, rest.diff),
    ...(used.data !== stored.data && { used: used.data }),
    ...(file !== undefined && file !== stored.text && { file }),
    ...(skills && { skills }),
  }
}

interface RestoreDependencies {
  store: ConfigurationStore
  /** The person at the command line. */
  actor: ActingIn | undefined
  gate: Gate
  /** The reason to restore a configuration that the gate refuses. */
  override: string | undefined
  newVersion(): string
  now(): number
}

export interface RestoredConfiguration {
  /** The version in use: the previous version if nothing changed. */
  version: string
  /** Paths of the changed values. */
  diff: string[]
  override?: GateOverride
}

/**
 * Stores a former configuration again. Changes in memory only stay in effect. Returns undefined for an unknown version. Throws `ConfigError`
 * when this program cannot use the former configuration, and `gate_not_passed`. A newest configuration that this program cannot use has no gate.
 */
export async function restoreConfiguration(
  version: string,
  { store, actor, gate, override: reason, newVersion, now }: RestoreDependencies,
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
    // The command has no files of skills. Folders of the former configuration alone have its pins.
    const skills = former.skills || newest.pins ? { ...former.skills, ...newest.pins } : undefined
    const override = newest.used && overrideOrThrow(await gate(newest, { ...next, pins: skills }), reason)
    const by = { ...(actor && { actor }), ...override }
    const restored = await latest.add({ ...next, version: newVersion(), kind: 'restore', at: now(), diff, skills, ...by }, newest)
    if (restored) return { version: restored.version, diff, ...override }
  }
}

/** The newest configuration, also if this program cannot use the configuration: restoring a former version is the remedy. */
async function readNewest(latest: LatestConfiguration, store: ConfigurationStore) {
  try {
    return await latest.read()
  } catch (error) {
    const row = error instanceof ConfigError ? await store.newest() : undefined
    if (!row) throw error
    const { n, version, storedVersion, skills: pins } = row
    return { n, version, storedVersion, pins, stored: undefined, used: undefined }
  }
}
