import type { Logger } from 'pino'
import { ServiceError } from '../errors.ts'
import type { AgentParts } from './agent.ts'
import type { ChangeRules } from './change/change.ts'
import type { ConfigData } from './change/merge.ts'
import { ConfigError, type ConfigProblem } from './problems.ts'
import type { AgentConfig } from './schema.ts'

/** The configuration while the service runs: shown, changed by callers, and followed where somebody edits the file. */
export interface Configuration {
  show(): ShownConfiguration
  /**
   * Merges a patch into the configuration; all or nothing, one at a time. Throws `validation` with every fault and its path, `forbidden`,
   * `precondition_failed`, or `configuration_not_stored`: the database
   * can't be reached; or, where there is none, the file can't be written or holds an edit that is not in effect.
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
  /** Why a newer one is not in use here; left out where there is none. */
  warnings?: readonly string[]
}

export interface ConfigurationUpdate {
  patch: ConfigData
  /** `check`: nothing changes. `memory`: what is stored stays as it is, and the change is gone with the last process. */
  mode: 'file' | 'memory' | 'check'
  /** Whether the version is one that the caller expects. */
  expects(version: string): boolean
  /** Who asks, for the log. */
  actor: { tenant: string; sub: string }
}

export interface UpdatedConfiguration {
  version: string
  /** Epoch milliseconds. */
  at: number
  /** Paths of what changed. */
  diff: string[]
  warnings: string[]
  /** Where what was stored before is kept: a path in the data directory, or a version in the database. */
  backup: string | undefined
}

/** What a configuration is made ready with. */
export interface ConfigurationDependencies {
  /** Throws `ConfigError` for models that can't be made. */
  createAgent(config: AgentConfig, version: string): AgentParts
  /**
   * Tries what can be tried without running anybody's command; what was found not to work. Throws `ConfigError` as `createAgent` does. Takes
   * seconds, not minutes.
   */
  tryOut(config: AgentConfig): Promise<string[]>
  rules: Omit<ChangeRules, 'variableUses'>
  newVersion(): string
  now(): number
  log: Logger
}

/** Faults of a configuration, as a caller who sent it is told of them. */
export async function withValidationErrors<T>(work: () => Promise<T>): Promise<T> {
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
