import type { Logger } from 'pino'
import { ServiceError } from '../errors.ts'
import type { AgentParts } from './agent.ts'
import type { ChangeRules } from './change/change.ts'
import type { ConfigData } from './change/merge.ts'
import { ConfigError, type ConfigProblem } from './problems.ts'
import type { AgentConfig } from './schema.ts'

/** The configuration of a running service. Callers read and change the configuration; edits of the file are followed. */
export interface Configuration {
  show(): ShownConfiguration
  /**
   * Merges a patch into the configuration atomically. Updates run one at a time. Throws `validation` with all faults and paths, `forbidden`,
   * `precondition_failed` or `configuration_not_stored`. The last means: the database is unreachable; or, without a database, the file
   * cannot be written or holds an edit that is not in effect.
   */
  update(update: ConfigurationUpdate): Promise<UpdatedConfiguration>
  /** Takes over an edit of the file. Faults of the edit are logged, and the configuration stays unchanged. */
  reload(): Promise<void>
  /** Refuses further changes. Resolves when no change is in progress. */
  close(): Promise<void>
}

export interface ShownConfiguration {
  /** The configuration with all defaults and masked secrets. */
  config: AgentConfig
  version: string
  /** The start of use in epoch milliseconds. */
  since: number
  /** The reasons why this process does not use a newer configuration. Absent without reasons. */
  warnings?: readonly string[]
}

export interface ConfigurationUpdate {
  patch: ConfigData
  /** `check`: nothing changes. `memory`: the stored configuration stays unchanged, and the change ends with the last process. */
  mode: 'file' | 'memory' | 'check'
  /** Returns true if the caller expects the version (`If-Match`). */
  expects(version: string): boolean
  /** The caller, for the log. */
  actor: { tenant: string; sub: string }
}

export interface UpdatedConfiguration {
  version: string
  /** The time of the change in epoch milliseconds. */
  at: number
  /** Paths of the changed values. */
  diff: string[]
  warnings: string[]
  /** The location of the former text: a path in the data directory, or a version in the database. */
  backup: string | undefined
}

/** The dependencies for preparing a configuration. */
export interface ConfigurationDependencies {
  /** Throws `ConfigError` for models that cannot be created. */
  createAgent(config: AgentConfig, version: string): AgentParts
  /**
   * Tests models and tools without running configured commands, and returns a line per failure. Throws `ConfigError` as `createAgent` does.
   * Takes seconds, not minutes.
   */
  tryOut(config: AgentConfig): Promise<string[]>
  rules: Omit<ChangeRules, 'variableUses'>
  newVersion(): string
  now(): number
  log: Logger
}

/** Turns a `ConfigError` of `work` into the error `validation`, with the faults of the request's body. */
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
