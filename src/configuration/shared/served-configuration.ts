import type { Logger } from 'pino'
import { type AgentParts, createAgents } from '../agent.ts'
import { formatProblems } from '../parse.ts'
import { ConfigError } from '../problems.ts'
import type { AgentConfig } from '../schema.ts'
import type { LoadedConfiguration, LatestConfiguration } from './latest-configuration.ts'
import { settlesWithin } from '../../concurrency/settles-within.ts'
import { logFaults, type SkillSet } from '../skills/skill.ts'
import type { LocalSkills } from './local-skills.ts'
import { reachState } from '../../states.ts'

/** A configuration with a prepared agent. */
export interface ReadyConfiguration {
  configuration: LoadedConfiguration
  parts: AgentParts
}

interface ServedDependencies {
  latest: LatestConfiguration
  createAgent(config: AgentConfig, version: string, skills?: SkillSet): AgentParts
  skills: Pick<LocalSkills, 'usable'>
  /** Called when a configuration is served. */
  onServed(): void
  log: Logger
}

/** The wait for slow tools before a new configuration is served. Chats can wait for their tools afterwards. */
const settleMs = 1000

/** The configuration in use by this process: the newest usable configuration. */
export function createServedConfiguration({ latest, createAgent, skills, onServed, log }: ServedDependencies, first: ReadyConfiguration) {
  const onError = (err: unknown) => log.error({ err }, 'A tool could not be closed')
  const agents = createAgents(first.parts, { onError })
  let { configuration } = first
  let faults: string[] = []
  /** The last logged problem, which is not logged again. */
  let loggedProblem: string | undefined
  let following: Promise<void> | undefined
  let isAskedAgain = false

  /** Serves `ready`, unless the served configuration is equally new or newer. */
  function take(next: ReadyConfiguration): void {
    if (next.configuration.n <= configuration.n) return void next.parts.tools.close().catch(onError)
    serve(next)
  }

  function serve(next: ReadyConfiguration): void {
    configuration = next.configuration
    agents.swap(next.parts)
    forget()
    onServed()
  }

  function forget(): void {
    faults = []
    loggedProblem = undefined
  }

  async function followOnce(): Promise<void> {
    const newest = await latest.read()
    if (newest.n <= configuration.n) return forget()
    const usable = await skills.usable(newest)
    logFaults(log, agents.current().skills, usable)
    const parts = createAgent(newest.used.config, newest.version, usable)
    await settlesWithin(parts.tools.settling() ?? Promise.resolve(), settleMs)
    reachState('configuration-followed')
    take({ configuration: newest, parts })
    log.info({ version: newest.version }, 'A new configuration is in use')
  }

  function fail(error: unknown): void {
    if (error instanceof ConfigError) faults = formatProblems('configuration', error)
    const text = error instanceof ConfigError ? faults.join('\n') : String(error)
    if (text === loggedProblem) return
    loggedProblem = text
    if (error instanceof ConfigError)
      log.error({ problems: faults }, 'The newest configuration cannot be used by this process; the previous configuration stays in use')
    else log.warn({ err: error }, 'The configuration could not be read from the database')
  }

  async function followAll(): Promise<void> {
    while (isAskedAgain) {
      isAskedAgain = false
      await followOnce().catch(fail)
    }
    following = undefined
  }

  return {
    get configuration() {
      return configuration
    },
    agents,
    /** The reasons, one per line, why the newest configuration is not served. Empty when the newest is served. */
    get faults() {
      return faults
    },
    /** True when the newest configuration could not be read, or cannot be used by this process. */
    get hasProblem() {
      return loggedProblem !== undefined
    },
    take,
    /** Serves the same configuration with the present files of skills. */
    async refresh(): Promise<void> {
      const current = configuration
      const usable = await skills.usable(current)
      logFaults(log, agents.current().skills, usable)
      const parts = createAgent(current.used.config, current.version, usable)
      if (current === configuration) serve({ configuration: current, parts })
      else await parts.tools.close()
    },
    /** Prepares and serves the newest configuration. Faults are logged once. Never rejects. */
    follow(): Promise<void> {
      isAskedAgain = true
      return (following ??= followAll())
    },
  }
}

export type ServedConfiguration = ReturnType<typeof createServedConfiguration>
