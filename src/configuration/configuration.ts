import type { Logger } from 'pino'
import { ServiceError } from '../errors.ts'
import { findFaultyTools, type AgentParts } from './agent.ts'
import type { Agents } from './agents.ts'
import { applyPatch, mergeEdit, toContent, type ChangeRules, type Content } from './change/change.ts'
import { changedPaths } from './change/diff.ts'
import { editYaml } from './change/edit-yaml.ts'
import type { Data } from './change/merge.ts'
import { referencesOf } from './change/references-rule.ts'
import { FileChanged, type ConfigurationFile } from './configuration-file.ts'
import { formatProblems } from './load.ts'
import { ConfigError, problemAt, type ConfigProblem } from './problems.ts'
import { hideUrlSecrets, redactConfig } from './redact.ts'
import type { AgentConfig } from './schema.ts'
import { readYaml } from './yaml-source.ts'

/** The configuration while the service runs: shown, changed by callers, and followed where somebody edits the file. */
export interface Configuration {
  show(): ShownConfiguration
  /**
   * Merges a patch into the configuration; all or nothing, one at a time. Throws `validation` with every fault and its path, `forbidden`,
   * `precondition_failed`, or `configuration_not_stored` where the file can't be written or holds an edit that is not in effect.
   */
  update(update: ConfigurationUpdate): Promise<UpdatedConfiguration>
  /** Takes over what somebody wrote into the file; what is wrong with it is logged, and all stays as it is. */
  reload(): Promise<void>
  /** Takes no change any more; resolves when none is under way. */
  close(): Promise<void>
}

export interface ShownConfiguration {
  /** With all defaults, secrets hidden. */
  config: AgentConfig
  version: string
  /** Since when it is in use; epoch milliseconds. */
  since: number
}

export interface ConfigurationUpdate {
  patch: Data
  /** `check`: nothing changes. `memory`: the file stays as it is, and the change is gone with the process. */
  mode: 'file' | 'memory' | 'check'
  /** Whether the version is one that the caller expects. */
  expects(version: string): boolean
  /** Who asks, for the log. */
  by: { tenant: string; sub: string }
}

export interface UpdatedConfiguration {
  version: string
  /** Epoch milliseconds. */
  at: number
  /** Paths of what changed. */
  diff: string[]
  warnings: string[]
  /** Where the file as it was is kept: a path in the data directory. */
  backup: string | undefined
}

export interface ConfigurationDependencies {
  agents: Agents
  file: ConfigurationFile
  source: ConfigurationSource
  /** Throws `ConfigError` for models that can't be made. */
  createAgent(config: AgentConfig, version: string): AgentParts
  /**
   * Tries what can be tried without running anybody's command; what was found not to work. Throws `ConfigError` as `createAgent` does. Takes
   * seconds, not minutes.
   */
  tryOut(config: AgentConfig): Promise<string[]>
  rules: Pick<ChangeRules, 'allowedReferences' | 'mayBringCode'>
  newVersion(): string
  now(): number
  log: Logger
}

/** What the service started with. */
export interface ConfigurationSource extends Content {
  readonly text: string
}

/** Throws `ConfigError`, with lines. */
export function parseSource(text: string): ConfigurationSource {
  const { value, lineOf } = readYaml(text)
  try {
    return { ...toContent(value as Data), text }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new ConfigError(error.problems.map((problem) => ({ ...problem, line: lineOf(problem.at) })))
  }
}

/** What the file holds and what is in use: they differ by what was changed in memory alone. */
interface State {
  readonly stored: ConfigurationSource
  readonly used: Content
  readonly since: number
}

export function createConfiguration(deps: ConfigurationDependencies): Configuration {
  const { agents, file, now, log } = deps
  let state: State = { stored: deps.source, used: deps.source, since: now() }
  /** A text that was found faulty and is not told again. */
  let refused: string | undefined
  let queue: Promise<unknown> = Promise.resolve()
  let isClosed = false

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = queue.then(work)
    queue = done.catch(() => undefined)
    return done
  }

  async function update({ patch, mode, expects, by }: ConfigurationUpdate): Promise<UpdatedConfiguration> {
    if (isClosed) throw new ServiceError('overloaded', 'The service is stopping.', { retryAfter: 5 })
    if (mode === 'file') await follow()
    const { version } = agents.current()
    if (!expects(version)) throw new ServiceError('precondition_failed', `The configuration is version ${version} by now.`)
    const next = await asFaults(async () => change(patch, mode))
    const diff = changedPaths(state.used.config, next.used.config)
    const unchanged = { version, at: now(), diff, backup: undefined }
    if (mode === 'check') return { ...unchanged, warnings: (await asFaults(() => deps.tryOut(next.used.config))).map(hideUrlSecrets) }
    if (diff.length === 0 && next.stored.text === state.stored.text) return { ...unchanged, warnings: [] }
    const parts = await asFaults(() => make(next.used.config))
    let backup: string | undefined
    try {
      if (next.stored.text !== state.stored.text) backup = await store(state.stored.text, next.stored.text)
    } catch (error) {
      await parts.tools.close()
      throw error
    }
    use(next, parts)
    log.info({ ...by, version: parts.version, mode, diff }, 'The configuration was changed')
    return {
      version: parts.version,
      at: state.since,
      diff,
      warnings: findFaultyTools(parts.tools).map(hideUrlSecrets),
      backup,
    }
  }

  /** Both what is in use and what is stored are changed, each by itself. */
  function change(patch: Data, mode: ConfigurationUpdate['mode']): State {
    const { stored, used } = state
    const rules = { ...deps.rules, references: referencesOf(stored.data, used.data) }
    const next = applyPatch(used, patch, rules)
    if (mode === 'memory') return { stored, used: next, since: now() }
    const kept = used.data === stored.data ? next : applyPatch(stored, patch, rules)
    const text = changedPaths(stored.data, kept.data).length === 0 ? stored.text : editYaml(stored.text, stored.data, kept.data)
    return { stored: { ...kept, text }, used: next, since: now() }
  }

  /** Waits until the tools are there, or have taken too long: chats need not. */
  async function make(config: AgentConfig): Promise<AgentParts> {
    const parts = deps.createAgent(config, deps.newVersion())
    await parts.tools.settling()
    return parts
  }

  function use(next: State, parts: AgentParts): void {
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
      // A file that is just being written is empty for a moment; as a start's it would stand for all defaults.
      if (text.trim() === '') throw new ConfigError([problemAt([], 'is empty')])
      const stored = parseSource(text)
      const { used } = state
      const isFollowed = used.data === state.stored.data
      const next = isFollowed ? stored : mergeEdit(used, state.stored.data, stored.data)
      const diff = changedPaths(used.config, next.config)
      if (diff.length === 0) {
        state = { ...state, stored, used: isFollowed ? stored : used }
        return true
      }
      const parts = await make(next.config)
      await keepCopy(state.stored.text)
      use({ stored, used: next, since: now() }, parts)
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
    update: (request) => inTurn(() => update(request)),
    reload: () => inTurn(reload),
    async close() {
      isClosed = true
      await queue
    },
  }
}

const unreadable = '\0unreadable'

async function asFaults<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const faults = error.problems.map(({ at, message }: ConfigProblem) => ({
      loc: ['body', 'configuration', ...at],
      msg: message,
      type: 'value_error',
    }))
    throw new ServiceError('validation', error.message, { faults, cause: error })
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error'
}
