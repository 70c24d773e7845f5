import type { Logger } from 'pino'
import type { ActingIn } from '../../audit/acts.ts'
import { overrideOrThrow, type Gate, type GateOverride } from '../change/gate.ts'
import { changedPaths } from '../change/merge.ts'
import type { ConfigurationState } from '../change/state.ts'
import { isAudited, type ChangeKind, type ConfigurationStore, type StoredConfiguration } from '../configuration-store.ts'
import { ConfigError } from '../problems.ts'
import { parseSource, toContent, type ConfigContent, type ConfigurationSource } from '../change/change.ts'
import { filesUnused, ofFiles, toRefused, unused, type RefusedEdit } from './refused-edit.ts'
import { changedSkills, pinnedSkills, pinsOf, withNewModules, type SkillPins } from '../skills/pins.ts'
import type { SkillSet } from '../skills/skill.ts'
import type { AgentConfig } from '../schema.ts'

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

  /** The configuration and its files as recorded. A recorded text that this program cannot use any more has no gate. */
  function stateOf({ skills, text }: StoredConfiguration, now: SkillPins | undefined) {
    const source = sourceOf({ text })
    return source && { stored: source, used: source, pins: withNewModules(skills, now) }
  }

  /** Why the step from the recorded configuration must not be made. Logged. */
  async function refusalOf(
    running: ReturnType<typeof stateOf>,
    source: ConfigurationSource,
    pins: SkillPins | undefined,
  ): Promise<RefusedEdit | undefined> {
    if (!running) return undefined
    const isEdit = source.text !== running.stored.text
    try {
      overrideOrThrow(await gate(running, { stored: source, used: source, pins }), undefined, isEdit ? `The edit of ${name}` : ofFiles)
      return undefined
    } catch (error) {
      const refused = toRefused(source.text, name, error)
      if (!refused) throw error
      log.error({ problems: refused.faults }, isEdit ? `${name} ${unused(refused)}` : filesUnused)
      return refused
    }
  }

  /** The newest text and files that the gate of the recorded configuration lets in. */
  async function admit(file: ConfigurationSource, former: StoredConfiguration | undefined, read: ReadFiles): Promise<AdmittedStart> {
    const set = await read(file.config)
    const pins = set && pinsOf(set)
    const ofFile = { source: file, set, pins, refused: undefined, refusedFiles: undefined }
    const running = former && stateOf(former, pins)
    if (!running) return ofFile
    const isEdit = running.stored.text !== file.text
    const refused = await refusalOf(running, file, pins)
    if (!refused) return ofFile
    if (isEdit) return { ...(await admit(running.stored, former, read)), refused }
    return { ...ofFile, set: set && pinnedSkills(set, running.pins), pins: running.pins, refusedFiles: refused }
  }

  return {
    /**
     * The configuration at the start of the service: the text of the file, or else the recorded one, where the file was edited and the edit has not
     * passed the gate of the recorded one. Files of skills and modules that have not passed are not used. `save` records the version, unless it is
     * recorded already.
     */
    async begin(file: ConfigurationSource, read: ReadFiles): Promise<FirstVersion> {
      const former = await store.newest()
      if (former) newest = former
      const first = await admit(file, former, read)
      const { source, pins } = first
      const skills = changedSkills(former?.skills, pins)
      const isSame = former?.text === source.text
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

type ReadFiles = (config: AgentConfig) => Promise<SkillSet | undefined>

interface AdmittedStart {
  source: ConfigurationSource
  set: SkillSet | undefined
  pins: SkillPins | undefined
  /** The edit that is not in effect. */
  refused: RefusedEdit | undefined
  /** The change of files that is not in effect. */
  refusedFiles: RefusedEdit | undefined
}

interface FirstVersion extends AdmittedStart {
  version: string
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
