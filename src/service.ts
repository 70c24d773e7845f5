import { randomUUIDv7 } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import type { Socket } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Agent } from './configuration/agent.ts'
import type { Environment } from './configuration/references.ts'
import { createContextFiles } from './files/context-files.ts'
import { openFilesRoot } from './files/root.ts'
import type { MetricsSharing } from './metrics/snapshots.ts'
import { createMetrics } from './metrics/metrics.ts'
import { createGuardedFetch } from './outbound/guarded-fetch.ts'
import { createObservability } from './runs/reports/observability.ts'
import { createRunList, createSessionRuns } from './runs/run-list.ts'
import { nameOf } from './runs/intake/open.ts'
import { combineObservers } from './runs/run-observer.ts'
import { openAccess, openLimits } from './service/access.ts'
import { checksOf } from './service/checks/running-service.ts'
import { openAgents } from './service/agents.ts'
import { openArtifacts, openBytes } from './service/artifacts.ts'
import { openConsole } from './service/console.ts'
import { openCallbacks } from './service/callbacks.ts'
import { openRuns } from './service/runs.ts'
import { boundAddress, openHttp } from './service/http.ts'
import { openDocuments, openKnowledge } from './service/knowledge.ts'
import { openLogins } from './service/logins.ts'
import { openMemory } from './service/memory.ts'
import { keepPruned } from './service/retention.ts'
import { openSecrets, renewSecrets } from './service/secrets.ts'
import { openSearch } from './service/search.ts'
import { openSessionChanges } from './service/sessions.ts'
import { createStatus, describeProcess } from './service/status.ts'
import { openTracing } from './service/tracing.ts'
import { openUploads } from './service/uploads.ts'
import { createConversations } from './sessions/conversations.ts'
import { createSessions } from './sessions/sessions.ts'
import type { Settings } from './settings/settings.ts'
import { createExecutionStore } from './store/runs/executions.ts'
import { createUnstoredRuns } from './store/runs/unstored.ts'
import { keepHolder } from './store/leases/holder.ts'
import { createJobs } from './store/jobs/jobs.ts'
import { openBus } from './store/postgres/bus.ts'
import { openDatabase } from './store/open.ts'
import { watchChanges } from './store/configuration/changes.ts'
import { createSeriesStore } from './store/reports/series.ts'
import { createRunReports } from './store/reports/run-reports.ts'
import { createPinStore } from './store/configuration/tool-pins.ts'
import { createRecentRunStore } from './store/reports/recent-runs.ts'
import { createRunListStore } from './store/reports/run-list.ts'
import { createEchoStore } from './store/runs/logs.ts'
import { createRunStore } from './store/runs/runs.ts'
import { createConversationStore } from './store/sessions/conversations.ts'
import { createSessionStore } from './store/sessions/sessions.ts'

export interface Service {
  app: FastifyInstance
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
  } = options
  // Closed in reverse order: at shutdown, and when the start fails half-way.
  await using stack = new AsyncDisposableStack()
  const now = Date.now
  const newId = randomUUIDv7
  const database = stack.adopt(await openDatabase(settings), (opened) => opened.close())
  const renewed = await renewSecrets(database, settings)
  const secrets = await openSecrets(database, settings, now)
  for (const line of [...renewed, ...secrets.notices]) log.info(line)
  const id = newId()
  const bus = stack.adopt(await openBus(database, { id, log }), (opened) => opened.close())
  const self = describeProcess(version, now())
  const holder = stack.adopt(await keepHolder(database, { id, bus, log, process: self }), (lease) => lease.release())
  const jobs = stack.adopt(createJobs(database, { now, log, bus }), (workers) => workers.drain(0))
  const runStore = createRunStore(database, { box: secrets.box, wake: () => jobs.wake('notification') })
  const executions = createExecutionStore(database)
  const sessionStore = createSessionStore(database)

  const cacheDir = path.join(settings.dataDir, 'cache')
  await mkdir(cacheDir, { recursive: true, mode: 0o700 })
  const root = await openFilesRoot(settings.filesRoot)
  const outbound = stack.adopt(createGuardedFetch({ allowed: settings.outboundAllow }), (guarded) => guarded.close())
  const pins = createPinStore(database)
  const searching = openSearch(stack, { database, settings, cacheDir, id, now, log })
  const { search } = searching
  const bytes = await openBytes(stack, settings)
  const { store: knowledgeStore, documents } = openDocuments(stack, { database, search, bytes, log })
  const tools = { files: root, cacheDir, outbound, search, documents, pins, logins: openLogins(database, settings) }
  const storeChanges = database.isShared ? stack.adopt(watchChanges(database), (watching) => watching.close()) : undefined
  const shared = secrets.box && storeChanges && { box: secrets.box, id, bus, watch: storeChanges.configuration }
  const { agents, configuration, follow } = await openAgents(stack, {
    settings,
    environment,
    tools,
    database,
    shared,
    mayMakeSample,
    now,
    newId,
    log,
  })
  searching.follow(agents.current)
  const access = await openAccess(stack, { agent: agents.current, database, settings, secrets, bus, changes: storeChanges, now, log })

  const { consoleSessions, identityProvider, consoleStore } = openConsole(stack, {
    database,
    settings,
    bus,
    outbound,
    keys: access.keyRules,
    now,
    log,
  })

  const publicUrl = () => settings.publicUrl ?? frontDoor?.url ?? boundAddress(app, settings.host)
  const pause = (ms: number, signal?: AbortSignal) => sleep(ms, undefined, { signal })
  const common = { agent: agents.current, holder: holder.id, database, settings, jobs, bus, now, newId, sleep: pause, log }
  const { signing } = access
  const files = await openArtifacts(stack, { ...common, bytes, sessions: sessionStore, signing, publicUrl })
  const { artifacts, keeper, executionFiles } = files
  const { uploads, uploadStore } = openUploads({ ...common, bytes })
  const knowledge = openKnowledge({ store: knowledgeStore, bytes, uploads, jobs })
  const { memories, recall } = openMemory(database, { ...common, encoder: searching.encoder })
  const tracing = await openTracing(stack, { tracing: settings.tracing, version, log })
  const metrics = createMetrics({
    runs: () => runs.counts(),
    waiting: () => runStore.countUnclaimed(),
    jobs: () => database.jobs.count(),
    now,
    sharing: frontDoor?.metrics,
  })
  const observer = tracing ? combineObservers([metrics.observer, tracing.observer]) : metrics.observer
  const limits = openLimits(stack, { ...common, running: () => runs.running() })
  const { runs, directly, subAgents, approvals, openCalls, traces } = openRuns(stack, {
    ...common,
    store: runStore,
    executions,
    root,
    files: executionFiles,
    uploads,
    keeper,
    recall,
    observer,
    onExecuted: metrics.executed,
    limits,
    refusalOf: outbound.refusalOf,
  })
  const { callbacks, listCallbacks, notifications, notificationStore } = await openCallbacks({
    ...common,
    secrets: secrets.callbacks,
    box: secrets.box,
    outbound,
    source: publicUrl,
    runs: runStore,
    openCalls,
    toAnswerFiles: artifacts.toAnswerFiles,
  })
  const changes = openSessionChanges({ ...common, store: sessionStore, runs, artifacts })

  const checks = checksOf({
    settings,
    environment,
    agent: agents.current,
    configuration,
    knowledge: knowledgeStore,
    database,
    search: searching.search,
    address: publicUrl,
  })
  const status = createStatus({ checks, database, jobs, process: { ...self, id }, now, log })
  let isStopping = false
  const runLists = createRunListStore(database)
  const services = {
    agent: agents.current,
    approvals,
    artifacts,
    callbacks,
    changes,
    configuration,
    consoleSessions,
    identityProvider,
    listCallbacks,
    listRuns: createRunList(runLists),
    sessionRuns: createSessionRuns(runLists),
    contextFiles: createContextFiles(root),
    keys: access.keys,
    knowledge,
    memories,
    metrics,
    observability: createObservability({ reports: createRunReports(database), series: createSeriesStore(database), now }),
    openCalls,
    notifications: notificationStore,
    refusalOf: outbound.refusalOf,
    pins,
    recentRuns: createRecentRunStore(database),
    traces,
    runs,
    runStore,
    sessions: createSessions(sessionStore),
    sessionStore,
    conversations: createConversations({ store: createConversationStore(database), nameOf, newId, now }),
    echoes: createEchoStore(database),
    status,
    subAgents,
    tools: directly,
    uploads,
    ping: () => database.ping(),
    isStopping: () => isStopping,
  }
  const { verifier, keyUse, adminKeyFile } = access
  // Callbacks contain the service's own URL, which is known once the service listens.
  const onListen = () => {
    jobs.handle('callback', callbackConcurrency, callbacks.deliver)
    jobs.handle('notification', callbackConcurrency, notifications.deliver)
    jobs.handle('interrupt_callback', callbackConcurrency, callbacks.deliverInterruption)
  }
  const http = {
    settings,
    version,
    log,
    verifier,
    keyUse,
    consoleSessions,
    limits: limits.requests,
    meter: metrics.requests,
    services,
    address: publicUrl,
    onListen,
    streamKeepAliveMs,
    consoleFolder,
    documentationFolder,
  }
  const { app, take } = await openHttp(stack, http)
  if (frontDoor) onListen()
  holder.onLost(async (graceMs) => {
    await executions.endLost(holder.id, graceMs, now())
    await runs.adopt(graceMs)
  })
  await keepPruned({ ...common, expiring: [consoleStore, uploadStore, createUnstoredRuns(database)] })
  follow()

  const resources = stack.move()
  async function close(drainMs: number, noticeMs = 0): Promise<void> {
    isStopping = true
    // A service without a database must stop too: other processes take the runs over when the lease expires.
    const logFailure = (step: Promise<void>) => step.catch((err: unknown) => log.error({ err }, 'A step of the shutdown failed'))
    await Promise.all([runs.drain(drainMs), directly.drain(drainMs), pause(noticeMs)].map(logFailure))
    database.postgres?.shortenRetries()
    await logFailure(holder.release())
    await logFailure(jobs.drain(jobDrainMs))
    await logFailure(resources.disposeAsync())
  }
  return {
    app,
    take,
    get agent() {
      return agents.current()
    },
    adminKeyFile,
    close,
  }
}

/** Number of concurrent callbacks; a slow receiver occupies a slot. */
const callbackConcurrency = 128

/** Time limit for the last jobs; remaining jobs run after the next start. */
const jobDrainMs = 3000
