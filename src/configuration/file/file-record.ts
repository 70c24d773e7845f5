import type { Logger } from 'pino'
import type { ActingIn } from '../../audit/acts.ts'
import { changedPaths } from '../change/merge.ts'
import type { ConfigurationState } from '../change/state.ts'
import { isAudited, type ChangeKind, type ConfigurationStore, type StoredConfiguration } from '../configuration-store.ts'
import { toAgentConfig } from '../parse.ts'
import { ConfigError } from '../problems.ts'
import { parseSource, type ConfigurationSource } from '../change/change.ts'

export interface RecordedVersion extends ConfigurationState {
  version: string
  kind: ChangeKind
  diff: readonly string[]
  actor?: ActingIn
}

interface FileRecordOptions {
  store: ConfigurationStore
  newVersion(): string
  now(): number
  log: Logger
}

/** The recorded versions of a configuration file. The file stays authoritative: a version that could not be recorded is in use all the same. */
export function createFileRecord({ store, newVersion, now, log }: FileRecordOptions) {
  /** The newest version that this process has recorded or taken over. */
  let newest: Pick<StoredConfiguration, 'n' | 'storedVersion'> = { n: 0, storedVersion: '' }

  async function insert({ version, kind, diff, actor, stored, used }: RecordedVersion): Promise<void> {
    const storedVersion = kind === 'memory' ? newest.storedVersion : version
    const content = { text: stored.text, isAudited: isAudited(used.config, diff) }
    const row = { version, storedVersion, kind, diff, ...content, at: now(), ...(actor && { actor }) }
    for (;;) {
      const after = await store.newestNumber()
      const isAdded = await store.add({ ...row, ...(used.data !== stored.data && { used: used.data }) }, after)
      if (isAdded) return void (newest = { n: after + 1, storedVersion })
    }
  }

  /** Never rejects. */
  function add(recorded: RecordedVersion): Promise<void> {
    return insert(recorded).catch((err: unknown) => {
      log.warn({ err, version: recorded.version }, 'The version could not be added to the history of the configuration')
    })
  }

  return {
    /** The version of the configuration at the start of the service. `save` records the version, unless it is recorded already. */
    async begin(source: ConfigurationSource): Promise<{ version: string; save(): Promise<void> }> {
      const former = await store.newest()
      if (former) newest = former
      if (former?.text === source.text && !former.used) return { version: former.version, save: async () => undefined }
      const isSame = former?.text === source.text
      const kind = former ? (isSame ? 'start' : 'edit') : 'seed'
      const diff = former ? changedPaths(configOf(former), source.config) : []
      const version = newVersion()
      return { version, save: () => add({ version, kind, diff, stored: source, used: source }) }
    },

    /** The version of a text that another process has recorded since, such as a command that restored it. */
    async findNewer(text: string): Promise<string | undefined> {
      const latest = await store.newest().catch(() => undefined)
      if (!latest || latest.n <= newest.n || latest.text !== text) return undefined
      newest = latest
      return latest.version
    },

    add,
  }
}

export type FileRecord = ReturnType<typeof createFileRecord>

/** Undefined for a text that this program cannot use; then the whole configuration counts as changed. */
export function configOf({ text, used }: Pick<StoredConfiguration, 'text' | 'used'>): unknown {
  try {
    return used ? toAgentConfig(used) : parseSource(text).config
  } catch (error) {
    if (error instanceof ConfigError) return undefined
    throw error
  }
}
