import { toContent } from '../change/change.ts'
import type { ConfigurationState } from '../change/state.ts'
import type { ChangeKind, ConfigurationActor, ConfigurationStore, StoredConfiguration } from '../configuration-store.ts'
import { parseSource } from '../source.ts'

/** A configuration of the store, parsed. All processes share this configuration. */
export interface LoadedConfiguration extends ConfigurationState {
  /** Increases with each change. */
  readonly n: number
  readonly version: string
  /** The version of the stored configuration in the store. */
  readonly storedVersion: string
  /** The time of the change in epoch milliseconds. */
  readonly since: number
}

/** A new configuration that follows a loaded configuration. */
export interface ConfigurationChange extends ConfigurationState {
  version: string
  kind: ChangeKind
  at: number
  /** The text of the edited file. */
  file?: string
  diff: readonly string[]
  actor?: ConfigurationActor
}

/** The newest configuration, which other processes may change too. */
export interface LatestConfiguration {
  /** Reads the newest configuration from the store. Throws `ConfigError` when this program cannot use the configuration. */
  read(): Promise<LoadedConfiguration>
  /** Undefined when another process added a configuration first. */
  add(change: ConfigurationChange, after: Pick<LoadedConfiguration, 'n' | 'storedVersion'>): Promise<LoadedConfiguration | undefined>
}

export function createLatestConfiguration(store: ConfigurationStore): LatestConfiguration {
  let cached: LoadedConfiguration | undefined

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

function parse({ n, version, storedVersion, text, used, at }: StoredConfiguration): LoadedConfiguration {
  const stored = parseSource(text)
  return { n, version, storedVersion, since: at, stored, used: used ? toContent(used) : stored }
}

function toRow({ stored, used, file, ...rest }: ConfigurationChange, after: Pick<LoadedConfiguration, 'storedVersion'>) {
  const isStored = rest.kind !== 'memory' && rest.kind !== 'start'
  const storedVersion = isStored ? rest.version : after.storedVersion
  return {
    ...rest,
    storedVersion,
    text: stored.text,
    ...(used.data !== stored.data && { used: used.data }),
    ...(file !== undefined && file !== stored.text && { file }),
  }
}
