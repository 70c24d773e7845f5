import type { Logger } from 'pino'
import type { AgentParts } from '../agent.ts'
import { createAgents, type Agents } from '../agents.ts'
import { formatProblems } from '../load.ts'
import { ConfigError } from '../problems.ts'
import type { AgentConfig } from '../schema.ts'
import type { LoadedConfiguration, LatestConfiguration } from './latest-configuration.ts'
import { settlesWithin } from '../../concurrency/settles-within.ts'

/** A configuration that was made ready. */
export interface ReadyConfiguration {
  configuration: LoadedConfiguration
  parts: AgentParts
}

/** The configuration that this process serves: the newest that it could make ready. */
export interface ServedConfiguration {
  readonly configuration: LoadedConfiguration
  readonly agents: Agents
  /** Why the newest is not served, a line each; empty where it is. */
  readonly faults: readonly string[]
  /** Serves it, unless it serves as new a one already. */
  take(ready: ReadyConfiguration): void
  /** Makes the newest ready and serves it; what is wrong with it is logged once. Never rejects. */
  follow(): Promise<void>
}

interface ServedDependencies {
  latest: LatestConfiguration
  createAgent(config: AgentConfig, version: string): AgentParts
  log: Logger
}

/** A chat can wait for its tools by itself; a new configuration is not held up for longer by a tool that is slow to make. */
const settleMs = 1000

export function createServedConfiguration(
  { latest, createAgent, log }: ServedDependencies,
  first: ReadyConfiguration,
): ServedConfiguration {
  const onError = (err: unknown) => log.error({ err }, 'A tool could not be closed')
  const agents = createAgents(first.parts, { onError })
  let { configuration } = first
  let faults: string[] = []
  /** What was told of the newest, so that it is told once. */
  let told: string | undefined
  let following: Promise<void> | undefined
  let isAskedAgain = false

  function take(next: ReadyConfiguration): void {
    if (next.configuration.n <= configuration.n) return void next.parts.tools.close().catch(onError)
    configuration = next.configuration
    agents.swap(next.parts)
    forget()
  }

  function forget(): void {
    faults = []
    told = undefined
  }

  async function followOnce(): Promise<void> {
    const newest = await latest.read()
    if (newest.n <= configuration.n) return forget()
    const parts = createAgent(newest.used.config, newest.version)
    await settlesWithin(parts.tools.settling() ?? Promise.resolve(), settleMs)
    take({ configuration: newest, parts })
    log.info({ version: newest.version }, 'Another configuration is in use')
  }

  function fail(error: unknown): void {
    if (error instanceof ConfigError) faults = formatProblems('configuration', error)
    const text = error instanceof ConfigError ? faults.join('\n') : String(error)
    if (text === told) return
    told = text
    if (error instanceof ConfigError)
      log.error({ problems: faults }, 'The newest configuration can not be used here; the one before goes on')
    else log.warn({ err: error }, 'The configuration could not be looked up')
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
    get faults() {
      return faults
    },
    take,
    follow() {
      isAskedAgain = true
      return (following ??= followAll())
    },
  }
}
