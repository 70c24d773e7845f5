import type { Logger } from 'pino'
import type { ActingIn } from '../../audit/acts.ts'
import { overrideOrThrow, type Gate, type GateOverride } from '../change/gate.ts'
import { changedPaths } from '../change/merge.ts'
import type { ConfigurationState } from '../change/state.ts'
import { isAudited, type ChangeKind, type ConfigurationStore, type StoredConfiguration } from '../configuration-store.ts'
import { ConfigError } from '../problems.ts'
import { parseSource, toContent, type ConfigContent, type ConfigurationSource } from '../change/change.ts'
import { toRefused, unused, type RefusedEdit } from './refused-edit.ts'
import { changedSkills, type SkillPins } from '../skills/pins.ts'

export interface RecordedVersion extends ConfigurationState {
  version: string
  kind: ChangeKind
  diff: readonly string[]
  actor?: ActingIn
  override?: GateOverride
  pins: SkillPins | undefined
}

interface FileRecordOptions {
  store: ConfigurationStore
  gate: Gate
  /** The name of the file, for messages. */
  name: string
  newVersion(): string
  now(): number
  log: Logger
}

/** The recorded versions of a configuration file. The file stays authoritative: a version that could not be recorded is in use all the same. */
export function createFileRecord({ store, gate, name, newVersion, now, log }: FileRecordOptions) {
  /** The newest version that this process has recorded or taken over. */
  let newest: Pick<StoredConfiguration, 'n' | 'storedVersion'> = { n: 0, storedVersion: '' }

  async function insert({ version, kind, diff, actor, override, stored, used, pins }: RecordedVersion): Promise<void> {
    const storedVersion = kind === 'memory' ? newest.storedVersion : version
    const content = { text: stored.text, isAudited: isAudited(used.config, diff), ...(pins && { skills: pins }) }
    const row = { version, storedVersion, kind, diff, ...content, at: now(), ...(actor && { actor }), ...(override && { override }) }
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

  /** A recorded text that this program cannot use any more has no gate. */
  async function refusedBy(former: StoredConfiguration, file: ConfigurationSource) {
    const before = sourceOf(former)
    if (!before) return undefined
    try {
      overrideOrThrow(await gate({ stored: before, used: before }, { stored: file, used: file }), undefined, `The edit of ${name}`)
      return undefined
    } catch (error) {
      const edit = toRefused(file.text, name, error)
      if (!edit) throw error
      log.error({ problems: edit.faults }, `${name} ${unused(edit)}`)
      return { before, edit }
    }
  }

  return {
    /**
     * The configuration at the start of the service: the text of the file, or else the recorded one, where the file was edited and the edit has not
     * passed the gate of the recorded one. `save` records the version, unless it is recorded already.
     */
    async begin(
      file: ConfigurationSource,
      readPins: (source: ConfigurationSource) => Promise<SkillPins | undefined>,
    ): Promise<FirstVersion> {
      const former = await store.newest()
      if (former) newest = former
      const refused = former && former.text !== file.text ? await refusedBy(former, file) : undefined
      const source = refused?.before ?? file
      const pins = await readPins(source)
      const skills = changedSkills(former?.skills, pins)
      const isSame = former?.text === source.text
      const first = { source, refused: refused?.edit }
      if (isSame && skills.length === 0 && !former.used) return { ...first, version: former.version, save: async () => undefined }
      const kind = !former ? 'seed' : !isSame ? 'edit' : skills.length > 0 ? 'skills' : 'start'
      const diff = former ? [...changedPaths(configOf(former), source.config), ...skills] : []
      const version = newVersion()
      return { ...first, version, save: () => add({ version, kind, diff, stored: source, used: source, pins }) }
    },

    /** The version of a text that another process has recorded since, such as a command that restored it. */
    async findNewer(text: string): Promise<string | undefined> {
      const latest = await store.newest().catch(() => undefined)
      if (!latest || latest.n <= newest.n || latest.text !== text) return undefined
      newest = latest
      return latest.version
    },

    add,
    /** Rejects where the version cannot be recorded. */
    insert,
  }
}

interface FirstVersion {
  version: string
  source: ConfigurationSource
  /** The edit that is not in effect. */
  refused: RefusedEdit | undefined
  save(): Promise<void>
}

export type FileRecord = ReturnType<typeof createFileRecord>

/** Undefined for a text that this program cannot use; then the whole configuration counts as changed. */
export function configOf(stored: Pick<StoredConfiguration, 'text' | 'used'>): unknown {
  return contentOf(stored)?.config
}

/** The content in use. Undefined where this program cannot use the content. */
export function contentOf({ text, used }: Pick<StoredConfiguration, 'text' | 'used'>): ConfigContent | undefined {
  return used ? usable(() => toContent(used)) : sourceOf({ text })
}

/** Undefined for a text that this program cannot use. */
export function sourceOf({ text }: Pick<StoredConfiguration, 'text'>): ConfigurationSource | undefined {
  return usable(() => parseSource(text))
}

function usable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof ConfigError) return undefined
    throw error
  }
}
