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
  tryChange,
  withValidationErrors,
  type Configuration,
  type ConfigurationUpdate,
  type ConfigurationDependencies,
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
export function createFileConfiguration(deps: FileConfigurationDependencies): Configuration {
  const { agents, file, store: versions, record, now, log } = deps
  let state: CurrentState = { stored: deps.source, used: deps.source, since: now() }
  /** A faulty text, whose problems are logged only once. */
  let refused: string | undefined
  const mutex = createMutex()
  let isClosed = false

  async function update(request: ConfigurationUpdate): Promise<UpdatedConfiguration> {
    const { change, mode, actor } = request
    if (isClosed) throw new ServiceError('overloaded', 'The service is stopping.', { retryAfter: 5 })
    if (mode === 'file') await follow()
    const { version } = agents.current()
    if (!request.expects(version)) throw outdated(version)
    const prepared = await prepareChange(state, request, { store: versions, rules: deps.rules })
    const { next, diff, oddities } = prepared
    const unchanged = { version, at: now(), diff, backup: undefined }
    if (mode === 'check') return { ...unchanged, warnings: await tryChange(prepared, request, deps) }
    if (diff.length === 0 && next.stored.text === state.stored.text) return { ...unchanged, warnings: [] }
    const parts = await withValidationErrors(() => createSettledAgent(deps, next.used.config, deps.newVersion()), placeOf(change))
    let backup: string | undefined
    try {
      if (next.stored.text !== state.stored.text) backup = await replaceFile(file, state.stored.text, next.stored.text)
    } catch (error) {
      await parts.tools.close()
      throw error
    }
    use(next, parts)
    await record.add({ ...next, version: parts.version, kind: kindOf({ change, mode }), diff, actor })
    log.info({ tenant: actor.tenant, sub: actor.sub, version: parts.version, mode, diff }, 'The configuration was changed')
    return {
      version: parts.version,
      at: state.since,
      diff,
      warnings: [...findFaultyTools(parts.tools).map(hideUrlSecrets), ...oddities],
      backup,
    }
  }

  function use(next: ConfigurationState, parts: AgentParts): void {
    state = { ...next, since: now() }
    agents.swap(parts)
  }

  /** Takes over a new edit before the file is written. An edit that cannot be taken over is not overwritten. */
  async function follow(): Promise<void> {
    const text = await file.read().catch((error: unknown) => {
      throw edited(file, error)
    })
    if (text !== state.stored.text && !(await takeOver(text))) throw edited(file, undefined)
  }

  async function reload(): Promise<void> {
    if (isClosed) return
    const text = await file.read().catch((err: unknown) => {
      if (refused !== unreadable) log.error({ err }, `${file.name} cannot be read; the configuration is unchanged`)
      refused = unreadable
    })
    if (text !== undefined && text !== state.stored.text && text !== refused) await takeOver(text)
    if (text === state.stored.text) refused = undefined
  }

  /** Returns false when the text is not a usable configuration. */
  async function takeOver(text: string): Promise<boolean> {
    try {
      const next = editState(state, state.stored.data, parseEdit(text))
      const diff = changedPaths(state.used.config, next.used.config)
      if (diff.length === 0) {
        state = { ...state, ...next }
        return true
      }
      const recorded = await record.findNewer(text)
      const parts = await createSettledAgent(deps, next.used.config, recorded ?? deps.newVersion())
      await keepCopy(state.stored.text)
      use(next, parts)
      if (recorded === undefined) await record.add({ ...next, version: parts.version, kind: 'edit', diff })
      log.info({ version: parts.version, diff }, `${file.name} was edited; the configuration was changed`)
      refused = undefined
      return true
    } catch (error) {
      const problems = error instanceof ConfigError ? formatProblems(file.name, error) : undefined
      const fields = problems ? { problems } : { err: error }
      if (refused !== text) log.error(fields, `${file.name} was edited, but cannot be used; the configuration is unchanged`)
      refused = text
      return false
    }
  }

  async function keepCopy(text: string): Promise<void> {
    await file.backUp(text).catch((err: unknown) => log.warn({ err }, 'The configuration before the edit could not be backed up'))
  }

  return {
    show: () => ({ config: redactConfig(state.used.config), version: agents.current().version, since: state.since }),
    showText: () => maskText(state.stored),
    history: (page) => readHistory(versions, page),
    version: (version) => readVersion(versions, version),
    update: (request) => mutex.run(() => update(request)),
    reload: () => mutex.run(reload),
    async close() {
      isClosed = true
      await mutex.idle()
    },
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
    const message = `${file.name} could not be written (${codeOf(error)}); nothing was changed.`
    throw new ServiceError('configuration_not_stored', `${message} A change with in_memory_only does not write the file.`, {
      cause: error,
    })
  }
}

function edited(file: ConfigurationFile, cause: unknown): ServiceError {
  const message = `${file.name} was edited or removed, and the edit is not in effect (see the log)`
  return new ServiceError('configuration_not_stored', `${message}; nothing was changed.`, { cause })
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error'
}
