import { ServiceError } from '../errors.ts'
import { findFaultyTools, type AgentParts } from './agent.ts'
import type { Agents } from './agents.ts'
import { changedPaths } from './change/diff.ts'
import { editState, patchState, type ConfigurationState } from './change/state.ts'
import { FileChanged, type ConfigurationFile } from './configuration-file.ts'
import {
  withValidationErrors,
  type Configuration,
  type ConfigurationUpdate,
  type ConfigurationDependencies,
  type UpdatedConfiguration,
} from './configuration.ts'
import { formatProblems } from './load.ts'
import { ConfigError } from './problems.ts'
import { hideUrlSecrets, redactConfig } from './redact.ts'
import type { AgentConfig } from './schema.ts'
import { parseEdit, type ConfigurationSource } from './source.ts'
import { createMutex } from '../concurrency/mutex.ts'

export interface FileConfigurationDependencies extends ConfigurationDependencies {
  agents: Agents
  file: ConfigurationFile
  /** What the service started with. */
  source: ConfigurationSource
}

/** What the file holds and what is in use. */
interface Current extends ConfigurationState {
  readonly since: number
}

/** The configuration of a service that is one process: what its file holds counts, and what was changed in memory. */
export function createFileConfiguration(deps: FileConfigurationDependencies): Configuration {
  const { agents, file, now, log } = deps
  let state: Current = { stored: deps.source, used: deps.source, since: now() }
  /** A text that was found faulty and is not told again. */
  let refused: string | undefined
  const mutex = createMutex()
  let isClosed = false

  async function update({ patch, mode, expects, actor }: ConfigurationUpdate): Promise<UpdatedConfiguration> {
    if (isClosed) throw new ServiceError('overloaded', 'The service is stopping.', { retryAfter: 5 })
    if (mode === 'file') await follow()
    const { version } = agents.current()
    if (!expects(version)) throw new ServiceError('precondition_failed', `The configuration is version ${version} by now.`)
    const next = await withValidationErrors(async () => patchState(state, patch, { isStored: mode !== 'memory', rules: deps.rules }))
    const diff = changedPaths(state.used.config, next.used.config)
    const unchanged = { version, at: now(), diff, backup: undefined }
    if (mode === 'check')
      return { ...unchanged, warnings: (await withValidationErrors(() => deps.tryOut(next.used.config))).map(hideUrlSecrets) }
    if (diff.length === 0 && next.stored.text === state.stored.text) return { ...unchanged, warnings: [] }
    const parts = await withValidationErrors(() => make(next.used.config))
    let backup: string | undefined
    try {
      if (next.stored.text !== state.stored.text) backup = await store(state.stored.text, next.stored.text)
    } catch (error) {
      await parts.tools.close()
      throw error
    }
    use(next, parts)
    log.info({ ...actor, version: parts.version, mode, diff }, 'The configuration was changed')
    return {
      version: parts.version,
      at: state.since,
      diff,
      warnings: findFaultyTools(parts.tools).map(hideUrlSecrets),
      backup,
    }
  }

  /** Waits until the tools are there, or have taken too long: chats need not. */
  async function make(config: AgentConfig): Promise<AgentParts> {
    const parts = deps.createAgent(config, deps.newVersion())
    await parts.tools.settling()
    return parts
  }

  function use(next: ConfigurationState, parts: AgentParts): void {
    state = { ...next, since: now() }
    agents.swap(parts)
  }

  async function store(before: string, after: string): Promise<string> {
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
      if (error instanceof FileChanged) throw edited(error)
      const why = `${file.name} could not be written (${codeOf(error)}); nothing was changed.`
      throw new ServiceError('configuration_not_stored', `${why} With in_memory_only a change needs no file.`, { cause: error })
    }
  }

  /** Before the file is written: an edit that was not seen yet is taken over, and one that can't be is not written over. */
  async function follow(): Promise<void> {
    const text = await file.read().catch((error: unknown) => {
      throw edited(error)
    })
    if (text !== state.stored.text && !(await takeOver(text))) throw edited(undefined)
  }

  function edited(cause: unknown): ServiceError {
    const what = `${file.name} was edited or removed, and what it holds is not in effect (the log says why)`
    return new ServiceError('configuration_not_stored', `${what}; nothing was changed.`, { cause })
  }

  async function reload(): Promise<void> {
    if (isClosed) return
    const text = await file.read().catch((err: unknown) => {
      if (refused !== unreadable) log.error({ err }, `${file.name} can not be read; the configuration stays as it is`)
      refused = unreadable
    })
    if (text !== undefined && text !== state.stored.text && text !== refused) await takeOver(text)
    if (text === state.stored.text) refused = undefined
  }

  /** False where the text is no configuration that can be used. */
  async function takeOver(text: string): Promise<boolean> {
    try {
      const next = editState(state, state.stored.data, parseEdit(text))
      const diff = changedPaths(state.used.config, next.used.config)
      if (diff.length === 0) {
        state = { ...state, ...next }
        return true
      }
      const parts = await make(next.used.config)
      await keepCopy(state.stored.text)
      use(next, parts)
      log.info({ version: parts.version, diff }, `${file.name} was edited; the configuration was changed`)
      refused = undefined
      return true
    } catch (error) {
      const problems = error instanceof ConfigError ? formatProblems(file.name, error) : undefined
      const told = problems ? { problems } : { err: error }
      if (refused !== text) log.error(told, `${file.name} was edited, but can not be used; the configuration stays as it is`)
      refused = text
      return false
    }
  }

  async function keepCopy(text: string): Promise<void> {
    await file.backUp(text).catch((err: unknown) => log.warn({ err }, 'The configuration before the edit could not be backed up'))
  }

  return {
    show: () => ({ config: redactConfig(state.used.config), version: agents.current().version, since: state.since }),
    update: (request) => mutex.run(() => update(request)),
    reload: () => mutex.run(reload),
    async close() {
      isClosed = true
      await mutex.idle()
    },
  }
}

const unreadable = '\0unreadable'

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error'
}
