import { ServiceError } from '../../errors.ts'
import { findFaultyTools, type AgentParts, type Agents } from '../agent.ts'
import { changedPaths } from '../change/merge.ts'
import { maskText } from '../change/mask-text.ts'
import { editState, type ConfigurationState } from '../change/state.ts'
import { FileChanged, type ConfigurationFile, type ConfigurationStore } from '../configuration-store.ts'
import {
  createSettledAgent,
  kindOf,
  outdated,
  prepareChange,
  previewChange,
  tryChange,
  withValidationErrors,
  type Configuration,
  type ConfigurationPreview,
  type ConfigurationUpdate,
  type ConfigurationDependencies,
  type HistoryPage,
  type PreparedChange,
  type UpdatedConfiguration,
  placeOf,
  readHistory,
  readVersion,
} from '../configuration.ts'
import type { FileRecord } from './file-record.ts'
import { formatProblems } from '../parse.ts'
import { ConfigError } from '../problems.ts'
import { hideUrlSecrets, redactConfig } from '../redact.ts'
import { parseEdit, type ConfigurationSource } from '../change/change.ts'
import { createMutex } from '../../concurrency/mutex.ts'

export interface FileConfigurationDependencies extends ConfigurationDependencies {
  agents: Agents
  file: ConfigurationFile
  /** The configuration at the start of the service. */
  source: ConfigurationSource
  store: ConfigurationStore
  record: FileRecord
}

/** The configuration in the file and the configuration in use. */
interface CurrentState extends ConfigurationState {
  readonly since: number
}

/** The configuration of a service with a single process: the text of the file, and changes in memory. */
export class FileConfiguration implements Configuration {
  private readonly deps: FileConfigurationDependencies
  private state: CurrentState
  /** A faulty text, whose problems are logged only once. */
  private refused: string | undefined
  private readonly mutex = createMutex()
  private isClosed = false

  constructor(deps: FileConfigurationDependencies) {
    this.deps = deps
    this.state = { stored: deps.source, used: deps.source, since: deps.now() }
  }

  show() {
    const { used, since } = this.state
    return { config: redactConfig(used.config), version: this.deps.agents.current().version, since }
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
    return previewChange({ ...this.state, version: this.deps.agents.current().version }, preview, this.deps)
  }

  reload() {
    return this.mutex.run(() => this.followEdit())
  }

  async close() {
    this.isClosed = true
    await this.mutex.idle()
  }

  private async change(request: ConfigurationUpdate): Promise<UpdatedConfiguration> {
    const { deps } = this
    const { mode } = request
    if (this.isClosed) throw new ServiceError('overloaded', 'The service is stopping.', { retryAfter: 5 })
    if (mode === 'file') await this.takeOverOrThrow()
    const { version } = deps.agents.current()
    if (!request.expects(version)) throw outdated(version)
    const prepared = await prepareChange(this.state, request, deps)
    const { next, diff } = prepared
    const unchanged = { version, at: deps.now(), diff, backup: undefined }
    if (mode === 'check') return { ...unchanged, warnings: await tryChange(prepared, request, deps) }
    if (diff.length === 0 && next.stored.text === this.state.stored.text) return { ...unchanged, warnings: [] }
    return this.apply(prepared, request)
  }

  private async apply(
    { next, diff, oddities }: PreparedChange,
    { change, mode, actor }: ConfigurationUpdate,
  ): Promise<UpdatedConfiguration> {
    const { deps } = this
    const { file, record, log } = deps
    const parts = await withValidationErrors(() => createSettledAgent(deps, next.used.config, deps.newVersion()), placeOf(change))
    const { version, tools } = parts
    const before = this.state.stored.text
    let backup: string | undefined
    try {
      if (next.stored.text !== before) backup = await replaceFile(file, before, next.stored.text)
    } catch (error) {
      await tools.close()
      throw error
    }
    this.use(next, parts)
    await record.add({ ...next, version, kind: kindOf({ change, mode }), diff, actor })
    log.info({ tenant: actor.tenant, sub: actor.sub, version, mode, diff }, 'The configuration was changed')
    return { version, at: this.state.since, diff, warnings: [...findFaultyTools(tools).map(hideUrlSecrets), ...oddities], backup }
  }

  private use(next: ConfigurationState, parts: AgentParts): void {
    this.state = { ...next, since: this.deps.now() }
    this.deps.agents.swap(parts)
  }

  /** Takes over a new edit before the file is written. An edit that cannot be taken over is not overwritten. */
  private async takeOverOrThrow(): Promise<void> {
    const { file } = this.deps
    const text = await file.read().catch((error: unknown) => {
      throw edited(file, error)
    })
    if (text !== this.state.stored.text && !(await this.takeOver(text))) throw edited(file, undefined)
  }

  private async followEdit(): Promise<void> {
    const { file, log } = this.deps
    if (this.isClosed) return
    const text = await file.read().catch((err: unknown) => {
      if (this.refused !== unreadable) log.error({ err }, `${file.name} cannot be read; the configuration is unchanged`)
      this.refused = unreadable
    })
    if (text !== undefined && text !== this.state.stored.text && text !== this.refused) await this.takeOver(text)
    if (text === this.state.stored.text) this.refused = undefined
  }

  /** Returns false when the text is not a usable configuration. */
  private async takeOver(text: string): Promise<boolean> {
    const { deps, state } = this
    const { file, record, log } = deps
    try {
      const next = editState(state, state.stored.data, parseEdit(text))
      const diff = changedPaths(state.used.config, next.used.config)
      if (diff.length === 0) {
        this.state = { ...state, ...next }
        return true
      }
      const recorded = await record.findNewer(text)
      const parts = await createSettledAgent(deps, next.used.config, recorded ?? deps.newVersion())
      const { version } = parts
      await file
        .backUp(state.stored.text)
        .catch((err: unknown) => log.warn({ err }, 'The configuration before the edit could not be backed up'))
      this.use(next, parts)
      if (recorded === undefined) await record.add({ ...next, version, kind: 'edit', diff })
      log.info({ version, diff }, `${file.name} was edited; the configuration was changed`)
      this.refused = undefined
      return true
    } catch (error) {
      const fields = error instanceof ConfigError ? { problems: formatProblems(file.name, error) } : { err: error }
      if (this.refused !== text) log.error(fields, `${file.name} was edited, but cannot be used; the configuration is unchanged`)
      this.refused = text
      return false
    }
  }
}

const unreadable = '\0unreadable'

/** Returns the path of the backup. */
async function replaceFile(file: ConfigurationFile, before: string, after: string): Promise<string> {
  try {
    const backup = await file.backUp(before)
    try {
      await file.replace(before, after)
    } catch (error) {
      await backup.remove().catch(() => undefined)
      throw error
    }
    return backup.path
  } catch (error) {
    if (error instanceof FileChanged) throw edited(file, error)
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    const message = `${file.name} could not be written (${code}); nothing was changed.`
    throw new ServiceError('configuration_not_stored', `${message} A change with in_memory_only does not write the file.`, {
      cause: error,
    })
  }
}

function edited(file: ConfigurationFile, cause: unknown): ServiceError {
  const message = `${file.name} was edited or removed, and the edit is not in effect (see the log)`
  return new ServiceError('configuration_not_stored', `${message}; nothing was changed.`, { cause })
}
