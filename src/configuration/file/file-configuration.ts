import { ServiceError } from '../../errors.ts'
import { findFaultyTools, type AgentParts, type Agents } from '../agent.ts'
import { logChange, overrideOrThrow } from '../change/gate.ts'
import { changedPaths } from '../change/merge.ts'
import { maskText } from '../change/mask-text.ts'
import { editState, type ConfigurationState } from '../change/state.ts'
import type { ConfigurationFile, ConfigurationStore } from '../configuration-store.ts'
import { admitChange, tryChange, type AdmittedChange, type SkillChange } from '../admit.ts'
import {
  createSettledAgent,
  kindOf,
  outdated,
  previewChange,
  withValidationErrors,
  type Configuration,
  type ConfigurationPreview,
  type ConfigurationUpdate,
  type ConfigurationDependencies,
  type HistoryPage,
  type UpdatedConfiguration,
  placeOf,
  readHistory,
  readVersion,
} from '../configuration.ts'
import type { FileRecord } from './file-record.ts'
import { edited, replaceFile, undo } from './replace-file.ts'
import { filesUnused, ofFiles, toRefused, unused, type RefusedEdit } from './refused-edit.ts'
import { areSame, changedSkills, pinsOf, type PinnedSkills, type SkillPins } from '../skills/pins.ts'
import { logFaults, readSkills, skillsChanged, type SkillSet } from '../skills/skill.ts'
import { hideUrlSecrets, redactConfig } from '../redact.ts'
import { parseEdit, type ConfigurationSource } from '../change/change.ts'
import type { AgentConfig } from '../schema.ts'
import { createMutex } from '../../concurrency/mutex.ts'

export interface FileConfigurationDependencies extends ConfigurationDependencies {
  agents: Agents
  file: ConfigurationFile
  /** The configuration at the start of the service. */
  source: ConfigurationSource
  /** The edit that is not in effect at the start. */
  refused: RefusedEdit | undefined
  /** The change of the files of skills and modules that is not in effect at the start. */
  refusedFiles: RefusedEdit | undefined
  store: ConfigurationStore
  record: FileRecord
  /** The skills and modules at the start of the service. */
  skills: SkillSet | undefined
  pins: SkillPins | undefined
}

/** The configuration in the file and the configuration in use. */
interface CurrentState extends ConfigurationState {
  readonly since: number
  readonly skills: SkillSet | undefined
  /** The accepted files; those of a refused change are not among them. */
  readonly pins: SkillPins | undefined
}

/** The configuration of a service with a single process: the text of the file, and changes in memory. */
export class FileConfiguration implements Configuration {
  private readonly deps: FileConfigurationDependencies
  private state: CurrentState
  /** A text whose problems are logged only once. */
  private refused: RefusedEdit | undefined
  private refusedFiles: RefusedEdit | undefined
  private readonly mutex = createMutex()
  private isClosed = false
  private watching: { close(): void } | undefined

  constructor(deps: FileConfigurationDependencies) {
    this.deps = deps
    this.state = { stored: deps.source, used: deps.source, since: deps.now(), skills: deps.skills, pins: deps.pins }
    this.refused = deps.refused
    this.refusedFiles = deps.refusedFiles
    this.watchSkills()
  }

  show() {
    const { used, since, skills } = this.state
    const warnings = [this.refused, this.refusedFiles, skills].flatMap((problem) => problem?.faults ?? [])
    const view = { config: redactConfig(used.config), version: this.deps.agents.current().version, since }
    return warnings.length === 0 ? view : { ...view, warnings }
  }

  showText() {
    return maskText(this.state.stored)
  }

  history(page: HistoryPage) {
    return readHistory(this.deps.store, page)
  }

  version(version: string) {
    return readVersion(this.deps.store, version)
  }

  update(request: ConfigurationUpdate) {
    return this.mutex.run(() => this.change(request))
  }

  preview(preview: ConfigurationPreview) {
    const { version, skills } = this.deps.agents.current()
    const pinsAfter = async (config: AgentConfig) => (await this.readFiles(config))?.pins ?? {}
    return previewChange({ ...this.state, version }, preview, { ...this.deps, pins: pinsOf(skills), pinsAfter })
  }

  reload() {
    return this.mutex.run(() => this.followEdit())
  }

  async close() {
    this.isClosed = true
    this.watching?.close()
    await this.mutex.idle()
  }

  private async change(request: ConfigurationUpdate): Promise<UpdatedConfiguration> {
    const { deps } = this
    const { mode } = request
    if (this.isClosed) throw new ServiceError('overloaded', 'The service is stopping.', { retryAfter: 5 })
    const held = mode === 'file' ? await this.takeOverOrThrow(request) : this.state.stored.text
    const { version } = deps.agents.current()
    if (!request.expects(version)) throw outdated(version)
    const prepared = await admitChange(this.state, request, deps, this.skillChange())
    const { next, diff } = prepared
    const unchanged = { version, at: deps.now(), diff, backup: undefined }
    if (mode === 'check') return { ...unchanged, warnings: await tryChange(prepared, request, deps) }
    if (diff.length === 0 && next.stored.text === this.state.stored.text) return { ...unchanged, warnings: [] }
    return this.apply(prepared, request, held)
  }

  /** `held`: the text of the file. */
  private async apply(
    { next, diff, oddities, override, skills }: AdmittedChange,
    { change, mode, actor }: ConfigurationUpdate,
    held: string,
  ): Promise<UpdatedConfiguration> {
    const { deps } = this
    const { file, record, log } = deps
    const parts = await withValidationErrors(
      () => createSettledAgent(deps, next.used.config, deps.newVersion(), skills?.set),
      placeOf(change),
    )
    const { version, tools } = parts
    const before = this.state.stored.text
    const isWritten = next.stored.text !== before
    const recorded = { ...next, version, kind: kindOf({ change, mode }), diff, actor, pins: skills?.pins, ...(override && { override }) }
    const isGated = this.state.used.config.releases?.gate !== undefined
    let backup: string | undefined
    try {
      if (isWritten) backup = await replaceFile(file, { before, held, after: next.stored.text })
      if (isGated)
        await record.insert(recorded).catch((error: unknown) => undo(file, isWritten ? { held, after: next.stored.text } : {}, error))
    } catch (error) {
      await tools.close()
      throw error
    }
    this.use(next, parts, skills)
    if (mode === 'file') this.refused = undefined
    if (!isGated) await record.add(recorded)
    const fields = { tenant: actor.tenant, sub: actor.sub, version, mode, diff }
    logChange(log, 'The configuration was changed', fields, override)
    return { version, at: this.state.since, diff, warnings: [...findFaultyTools(tools).map(hideUrlSecrets), ...oddities], backup }
  }

  private use(next: ConfigurationState, parts: AgentParts, skills: PinnedSkills | undefined): void {
    this.state = { ...next, since: this.deps.now(), skills: skills?.set, pins: skills?.pins }
    this.refusedFiles = undefined
    this.deps.agents.swap(parts)
    this.watchSkills()
  }

  private skillChange(): SkillChange {
    return {
      before: this.state.pins,
      after: (config) => this.readFiles(config),
    }
  }

  private async readFiles(config: AgentConfig): Promise<PinnedSkills | undefined> {
    const set = await readSkills(this.deps.agentFiles, config)
    return set && { set, pins: pinsOf(set) }
  }

  private watchSkills(): void {
    const { used, skills } = this.state
    this.watching?.close()
    // A refused change is tried again, because an experiment may pass.
    const mark = this.refusedFiles ? '' : skills?.mark
    this.watching = mark === undefined ? undefined : this.deps.agentFiles?.watch(used.config, mark, () => void this.followSkills())
  }

  /** Takes over a change of the files of skills and modules. */
  private followSkills(): Promise<void> {
    return this.mutex.run(async () => {
      if (!this.isClosed) await this.takeOver(this.state.stored.text)
    })
  }

  /**
   * Takes over a new edit before the file is written, and returns the text of the file. An edit that cannot be taken over is not overwritten,
   * but an override replaces an edit that has not passed the gate.
   */
  private async takeOverOrThrow({ override }: ConfigurationUpdate): Promise<string> {
    const { file } = this.deps
    const text = await file.read().catch((error: unknown) => {
      throw edited(file, error)
    })
    const refused = text === this.state.stored.text ? undefined : await this.takeOver(text)
    if (refused && !refused.isOfGate) throw edited(file, undefined)
    if (refused && override === undefined) throw refused.cause
    return text
  }

  private async followEdit(): Promise<void> {
    const { file, log } = this.deps
    if (this.isClosed) return
    const text = await file.read().catch((err: unknown) => {
      const faults = [`${file.name} cannot be read; the configuration is unchanged`]
      if (this.refused?.text !== unreadable) log.error({ err }, faults[0])
      this.refused = { text: unreadable, faults, isOfGate: false, cause: err }
    })
    const isKnown = text === this.refused?.text && !this.refused?.isOfGate
    if (text !== undefined && text !== this.state.stored.text && !isKnown) await this.takeOver(text)
    if (text === this.state.stored.text) this.refused = undefined
  }

  /** Undefined when the text is in use now. */
  private async takeOver(text: string): Promise<RefusedEdit | undefined> {
    const { file, log } = this.deps
    const isOfFiles = text === this.state.stored.text
    try {
      await this.useEdit(text)
      if (!isOfFiles) this.refused = undefined
    } catch (error) {
      const refused = toRefused(text, file.name, error)
      const fields = refused ? { problems: refused.faults } : { err: error }
      if (isOfFiles && refused?.isOfGate) {
        if (this.refusedFiles?.faults[0] !== refused.faults[0]) log.error(fields, filesUnused)
        return (this.refusedFiles = refused)
      }
      if (this.refused?.text !== text) log.error(fields, `${file.name} ${unused(refused ?? { isOfGate: false })}`)
      this.refused = refused ?? { text, faults: [`${file.name} ${unused({ isOfGate: false })}`], isOfGate: false, cause: error }
    }
    return isOfFiles ? undefined : this.refused
  }

  private async useEdit(text: string): Promise<void> {
    const { deps, state } = this
    const { file, record, log } = deps
    const next = editState(state, state.stored.data, parseEdit(text))
    const isEdit = text !== state.stored.text
    const skills = await this.readFiles(next.used.config)
    const changed = changedPaths(state.used.config, next.used.config)
    const recorded = changed.length === 0 ? undefined : await record.findNewer(text)
    // A command that records a version has asked the gate.
    if (recorded === undefined)
      overrideOrThrow(await deps.gate(state, { ...next, pins: skills?.pins }), undefined, isEdit ? `The edit of ${file.name}` : ofFiles)
    logFaults(log, state.skills, skills?.set)
    const diff = [...changed, ...changedSkills(state.pins, skills?.pins)]
    // The files of a refused change may be the accepted ones again: the version stays, and its skills come back.
    if (diff.length === 0 && areSame(pinsOf(state.skills), pinsOf(skills?.set))) {
      this.state = { ...state, ...next, skills: skills?.set }
      this.refusedFiles = undefined
      return this.watchSkills()
    }
    const isNew = diff.length > 0
    const versionAfter = recorded ?? (isNew ? deps.newVersion() : deps.agents.current().version)
    const parts = await createSettledAgent(deps, next.used.config, versionAfter, skills?.set)
    const { version } = parts
    if (isEdit) {
      await file
        .backUp(state.stored.text)
        .catch((err: unknown) => log.warn({ err }, 'The configuration before the edit could not be backed up'))
    }
    this.use(next, parts, skills)
    if (recorded === undefined && isNew) await record.add({ ...next, version, kind: isEdit ? 'edit' : 'skills', diff, pins: skills?.pins })
    log.info({ version, diff }, isEdit ? `${file.name} was edited; the configuration was changed` : skillsChanged)
  }
}

const unreadable = '\0unreadable'
