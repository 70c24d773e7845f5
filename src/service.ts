import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Agent } from './configuration/agent.ts'
import type { Environment } from './configuration/references.ts'
import type { MetricsSharing } from './metrics/snapshots.ts'
import { openAuditReads } from './service/audit-reads.ts'
import { openAccess, openLimits } from './service/access.ts'
import { openAgents } from './service/agents.ts'
import { checksOf } from './service/checks/running-service.ts'
import { openBudgets } from './service/budgets.ts'
import { openConsole } from './service/console.ts'
import { openBytes, openFiles } from './service/files.ts'
import { boundAddress, openHttp } from './service/http.ts'
import { openMeasures } from './service/measures.ts'
import { openMemory } from './service/memory.ts'
import { createNewId } from './service/new-id.ts'
import { keepPruned, openSessions } from './service/sessions.ts'
import { openCallbacks, openRecords } from './service/run-records.ts'
import { openRuns } from './service/runs.ts'
import { openEvals } from './service/evals.ts'
import { openSchedules } from './service/schedules.ts'
import { createStatus } from './service/status.ts'
import { openStorage } from './service/storage.ts'
import { openToolParts } from './service/tool-parts.ts'
import type { Settings } from './settings/settings.ts'
import type { ScheduleClock } from './store/schedules/statements.ts'

export interface Service {
  /** The server that listens. */
  app: FastifyInstance
  /** The server with all routes, to which `app` passes requests. Made at the first call. */
  allRoutes(): Promise<FastifyInstance>
  /** Serves a connection that the supervising process has accepted. */
  take(connection: Socket): void
  /** The agent of the current configuration. */
  readonly agent: Agent
  /** Path of the file with the administrator's key. */
  adminKeyFile: string
  /**
   * Refuses new work, waits at most `drainMs` for running work, and closes everything. For at least `noticeMs` the
   * service still answers that it is stopping.
   */
  close(drainMs: number, noticeMs?: number): Promise<void>
}

export interface ServiceOptions {
  settings: Settings
  environment: Environment
  version: string
  log: Logger
  /** Present for a worker of a multi-process service: another process listens at `url` and hands over connections. */
  frontDoor?: { url: string; metrics: MetricsSharing }
  /** True to start a shared database without configuration and without agent.yaml from the sample; default true. */
  mayMakeSample?: boolean
  /** Folder of the built console; default: `dist/console` of the package. */
  consoleFolder?: string
  /** Folder of the built documentation; default: `dist/docs` of the package. */
  documentationFolder?: string
  /** Milliseconds of silence after which a stream gets a comment; default 15 s. */
  streamKeepAliveMs?: number
  /** The clock of schedules. Default: that of the database. */
  scheduleClock?: ScheduleClock
}

/**
 * Wires the service: every adapter meets its port here, or in a file of `service/` named after a noun. The caller must
 * hold the data directory. Throws `ConfigError` for an unusable configuration file.
 */
export async function createService(options: ServiceOptions): Promise<Service> {
  const {
    settings,
    environment,
    version,
    log,
    frontDoor,
    mayMakeSample = true,
    streamKeepAliveMs,
    consoleFolder,
    documentationFolder,
    scheduleClock,
  } = options
  // Closed in reverse order: at shutdown, and when the start fails half-way.
  await using stack = new AsyncDisposableStack()
  const now = Date.now
  const newId = createNewId()
  const storage = await openStorage(stack, { settings, version, log, now, newId })
  const { database, secrets, bus, holder, jobs, runStore, sessionStore, changes } = storage
  const { id } = storage.process
  const bytes = await openBytes(stack, settings)
  const { tools, knowledgeStore, encoder, follow: followAgent } = await openToolParts(stack, { database, settings, bytes, id, now, log })
  const { outbound } = tools
  const shared = secrets.box && changes && { box: secrets.box, id, bus, watch: changes.configuration }
  const configured = { settings, environment, tools, database, shared, mayMakeSample, now, newId, log }
  const { agents, configuration, openAgent, follow } = await openAgents(stack, configured)
  const agent = agents.current
  database.ledger.follow({ isEnabled: () => agent().config.audit.enabled, version: () => agent().version })
  const access = await openAccess(stack, { agent, database, settings, secrets, bus, changes, now, log })
  const { verifier, keyUse, signing, principalNow, adminKeyFile } = access
  storage.sealer.start(signing)
  const signIn = openConsole(stack, { database, settings, bus, outbound, keys: access.keyRules, now, log })

  const publicUrl = () => settings.publicUrl ?? frontDoor?.url ?? boundAddress(app, settings.host)
  const pause = (ms: number, signal?: AbortSignal) => sleep(ms, undefined, { signal })
  const { budgets, budgetStore, overrideRules, ...budgeting } = openBudgets(database, {
    agent,
    settings,
    jobs,
    holder: holder.id,
    now,
    newId,
    log,
  })
  followAgent(agent, budgets)
  const common = { agent, budgets, holder: holder.id, database, settings, jobs, bus, now, newId, sleep: pause, log }
  const files = await openFiles(stack, { ...common, bytes, sessions: sessionStore, signing, publicUrl, knowledgeStore, root: tools.files })
  const { artifacts, uploads } = files.services
  const { memories, recall } = openMemory(database, { ...common, encoder })
  const measures = await openMeasures(stack, {
    ...common,
    tracing: settings.tracing,
    version,
    runStore,
    runs: () => runs,
    sharing: frontDoor?.metrics,
  })
  const { metrics, observer } = measures
  const limits = openLimits(stack, { ...common, running: () => runs.running() })
  const {
    endLostExecutions,
    replaying,
    services: running,
  } = openRuns(stack, {
    ...common,
    store: runStore,
    root: tools.files,
    files: files.executionFiles,
    uploads,
    keeper: files.keeper,
    recall,
    observer,
    onExecuted: metrics.executed,
    overrideRules,
    limits,
    refusalOf: outbound.refusalOf,
    publicUrl,
  })
  const { runs, openCalls } = running
  const callbacks = await openCallbacks({
    ...common,
    secrets: secrets.callbacks,
    box: secrets.box,
    outbound,
    source: publicUrl,
    runs: runStore,
    openCalls,
    toAnswerFiles: artifacts.toAnswerFiles,
  })
  const scheduling = openSchedules(stack, {
    ...common,
    runs,
    principalNow,
    limits: limits.requests,
    box: secrets.box,
    clock: scheduleClock,
    onFired: metrics.fired,
  })
  const historyTokens = () => agent().config.memory.history_tokens
  const checks = checksOf({ ...common, environment, configuration, knowledge: knowledgeStore, search: tools.search, address: publicUrl })
  const auditing = openAuditReads(database, { agent, signing, sealer: storage.sealer })
  const evals = openEvals({
    ...common,
    ...replaying,
    configuration,
    openAgent,
    principalNow,
    box: secrets.box,
    store: runStore,
    openCalls,
    artifacts,
    observer,
    publicUrl,
  })
  let isStopping = false
  const services = {
    agent,
    budgets,
    configuration,
    contentBox: secrets.contentBox,
    keys: access.keys,
    memories,
    metrics,
    pins: tools.pins,
    refusalOf: outbound.refusalOf,
    schedules: scheduling.schedules,
    status: createStatus({ checks, database, jobs, process: storage.process, now, log }),
    ping: () => database.ping(),
    isStopping: () => isStopping,
    ...signIn.services,
    ...budgeting.services,
    ...files.services,
    ...running,
    ...callbacks.services,
    ...auditing,
    ...evals.services,
    ...openRecords({ database, store: runStore, openCalls, runs, historyTokens, now }),
    ...openSessions({ ...common, ...auditing, store: sessionStore, runs, artifacts }),
  }
  const onListen = callbacks.deliver
  const { app, allRoutes, take } = await openHttp(stack, {
    settings,
    version,
    log,
    newId,
    verifier,
    keyUse: { record: keyUse.record, seen: scheduling.seen },
    consoleSessions: signIn.services.consoleSessions,
    denials: access.denials,
    limits: limits.requests,
    meter: metrics.requests,
    services,
    address: publicUrl,
    onListen,
    streamKeepAliveMs,
    consoleFolder,
    documentationFolder,
  })
  if (frontDoor) onListen()
  holder.onLost(async (graceMs) => {
    await endLostExecutions(graceMs)
    await runs.adopt(graceMs)
  })
  await keepPruned({ ...common, signing, expiring: [signIn.store, files.uploadStore, budgetStore, scheduling.store] })
  follow()

  const resources = stack.move()
  async function close(drainMs: number, noticeMs = 0): Promise<void> {
    isStopping = true
    evals.stop()
    // A service without a database must stop too: other processes take the runs over when the lease expires.
    const logFailure = (step: Promise<void>) => step.catch((err: unknown) => log.error({ err }, 'A step of the shutdown failed'))
    await Promise.all([scheduling.stop(), runs.drain(drainMs), running.tools.drain(drainMs), pause(noticeMs)].map(logFailure))
    database.postgres?.shortenRetries()
    await logFailure(holder.release())
    await logFailure(jobs.drain(jobDrainMs))
    await logFailure(resources.disposeAsync())
  }
  return {
    app,
    allRoutes,
    take,
    get agent() {
      return agents.current()
    },
    adminKeyFile,
    close,
  }
}

/** Time limit for the last jobs; remaining jobs run after the next start. */
const jobDrainMs = 3000
