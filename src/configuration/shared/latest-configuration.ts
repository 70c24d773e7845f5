import { toContent } from '../change/change.ts'
import type { ConfigurationState } from '../change/state.ts'
import type { ChangeKind, ConfigurationStore, StoredConfiguration } from '../configuration-store.ts'
import { parseSource } from '../source.ts'

/** A configuration that all processes have in common, read. */
export interface LoadedConfiguration extends ConfigurationState {
  /** Grows with each change. */
  readonly n: number
  readonly version: string
  /** Under which what is stored can be found again. */
  readonly storedVersion: string
  /** Since when; epoch milliseconds. */
  readonly since: number
}

/** Another one, to come behind one that was seen. */
export interface ConfigurationChange extends ConfigurationState {
  version: string
  kind: ChangeKind
  at: number
  /** The text of the file that it was taken from. */
  file?: string
  diff: readonly string[]
  actor?: { tenant: string; sub: string }
}

/** The newest configuration, which other processes change too. */
export interface LatestConfiguration {
  /** Asks the store. Throws `ConfigError` where it is none that this program can use. */
  read(): Promise<LoadedConfiguration>
  /** Undefined where another came first. */
  add(change: ConfigurationChange, after: Pick<LoadedConfiguration, 'n' | 'storedVersion'>): Promise<LoadedConfiguration | undefined>
}

export function createLatestConfiguration(store: ConfigurationStore): LatestConfiguration {
  let known: LoadedConfiguration | undefined

  async function read(): Promise<LoadedConfiguration> {
    const n = await store.newestNumber()
    if (known?.n === n) return known
    const row = await store.newest()
    if (!row) throw new Error('There is no configuration in the database any more.')
    return learn(parse(row))
  }

  function learn(next: LoadedConfiguration): LoadedConfiguration {
    if (!known || next.n > known.n) known = next
    return next
  }

  async function add(
    change: ConfigurationChange,
    after: Pick<LoadedConfiguration, 'n' | 'storedVersion'>,
  ): Promise<LoadedConfiguration | undefined> {
    const row = toRow(change, after)
    if (!(await store.add(row, after.n))) return undefined
    // As the others will read it: what is shown is the same everywhere, to the order of its keys.
    return learn(parse({ ...row, n: after.n + 1 }))
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
    ...{ ...rest, storedVersion, text: stored.text },
    ...(used.data !== stored.data && { used: used.data }),
    ...(file !== undefined && file !== stored.text && { file }),
  }
}
