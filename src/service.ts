import { randomUUIDv7 } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import type { Socket } from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Agent } from './configuration/agent.ts'
import type { Environment } from './configuration/references.ts'
import { openFilesRoot } from './files/root.ts'
import type { MetricsSharing } from './metrics/snapshots.ts'
import { createMetrics } from './metrics/metrics.ts'
import { createGuardedFetch } from './outbound/guarded-fetch.ts'
import { createObservability } from './runs/reports/observability.ts'
import { combineObservers } from './runs/run-observer.ts'
import { openAccess } from './service/access.ts'
import { openAgents } from './service/agents.ts'
import { openArtifacts } from './service/artifacts.ts'
import { openCallbacks } from './service/callbacks.ts'
import { openChats } from './service/chats.ts'
import { boundAddress, openHttp } from './service/http.ts'
import { openLimits } from './service/limits.ts'
import { openMemory } from './service/memory.ts'
import { keepPruned } from './service/retention.ts'
import { openSecrets, renewSecrets } from './service/secrets.ts'
import { openSessionChanges } from './service/sessions.ts'
import { openTracing } from './service/tracing.ts'
import { createSessions } from './sessions/sessions.ts'
import type { Settings } from './settings/settings.ts'
import { createExecutionStore } from './store/runs/executions.ts'
import { keepHolder } from './store/leases/holder.ts'
import { createJobs } from './store/jobs/jobs.ts'
import { openBus } from './store/postgres/bus.ts'
import { openDatabase } from './store/open.ts'
import { createRunReports } from './store/reports/run-reports.ts'
import { createRunStore } from './store/runs/runs.ts'
import { createSessionStore } from './store/sessions/sessions.ts'

export interface Service {
  app: FastifyInstance
  /** Serves a connection that another process has taken. */
  take(connection: Socket): void
  /** The current one. */
  readonly agent: Agent
  /** Path of the administrator's key. */
  adminKeyFile: string
  /**
   * Takes nothing new, waits `drainMs` at most for what runs, and closes everything. So long as `noticeMs` at least it answers that it is
   * stopping, before it does not listen any more.
   */
  close(drainMs: number, noticeMs?: number): Promise<void>
}

export interface ServiceOptions {
  settings: Settings
  environment: Environment
  version: string
  log: Logger
  /** Present where it is one of several behind one port: another process listens, at this address, and gives it connections. */
  frontDoor?: { url: string; metrics: MetricsSharing }
  /** Whether a shared database without a configuration begins with the sample, where there is no agent.yaml; default true. */
  mayMakeSample?: boolean
  /** Milliseconds of silence after which a stream has a comment; default 15 s. */
  streamKeepAliveMs?: number
}

/**
 * The wiring: every adapter meets its port here, or in the part of it that `service/` has for a noun. The data directory must be held by
 * the caller. Throws `ConfigError` for a file that holds no configuration that can be used.
 */
export async function createService(options: ServiceOptions): Promise<Service> {
  const { settings, environment, version, log, frontDoor, mayMakeSample = true, streamKeepAliveMs } = options
  // Closed in reverse order: at the end, and where the start fails half-way.
  await using stack = new AsyncDisposableStack()
  const now = Date.now
  const newId = randomUUIDv7
  const database = stack.adopt(await openDatabase(settings), (one) => one.close())
  const renewed = await renewSecrets(database, settings)
  const secrets = await openSecrets(database, settings, now)
  for (const line of [...renewed, ...secrets.notices]) log.info(line)
  const id = newId()
  const bus = stack.adopt(await openBus(database, { id, log }), (one) => one.close())
  const holder = stack.adopt(await keepHolder(database, { id, bus, log }), (one) => one.release())
  const jobs = stack.adopt(createJobs(database, { now, log, bus }), (one) => one.drain(0))
  const runs = createRunStore(database)
  const executions = createExecutionStore(database)
  const sessionStore = createSessionStore(database)

  const cacheDir = path.join(settings.dataDir, 'cache')
  await mkdir(cacheDir, { recursive: true, mode: 0o700 })
  const root = await openFilesRoot(settings.filesRoot)
  const outbound = stack.adopt(createGuardedFetch({ allowed: settings.outboundAllow }), (one) => one.close())
  const tools = { files: root, cacheDir, outbound }
  const shared = secrets.box && { database, box: secrets.box, id, bus }
  const { agents, configuration, follow } = await openAgents(stack, {
    settings,
    environment,
    tools,
    shared,
    mayMakeSample,
    now,
    newId,
    log,
  })
  const customRoles = () => agents.current().config.access.roles
  const access = await openAccess(stack, { database, settings, secrets, bus, customRoles, now, log })

  const publicUrl = () => settings.publicUrl ?? frontDoor?.url ?? boundAddress(app, settings.host)
  const pause = (ms: number, signal?: AbortSignal) => sleep(ms, undefined, { signal })
  const common = { agent: agents.current, holder: holder.id, database, settings, jobs, bus, now, newId, sleep: pause, log }
  const { signing } = access
  const { artifacts, keeper, executionFiles } = await openArtifacts(stack, { ...common, sessions: sessionStore, signing, publicUrl })
  const { memories, recall } = openMemory(database, common)
  const tracing = await openTracing(stack, { tracing: settings.tracing, version, log })
  const metrics = createMetrics({
    ...{ runs: () => chats.counts(), waiting: () => runs.countUnclaimed(), jobs: () => database.jobs.count() },
    ...{ now, sharing: frontDoor?.metrics },
  })
  const observer = tracing ? combineObservers([metrics.observer, tracing.observer]) : metrics.observer
  const limits = openLimits(stack, { ...common, running: () => chats.running() })
  const { chats, directly, subAgents, approvals, openCalls } = openChats(stack, {
    ...common,
    ...{ store: runs, executions, root, keeper, recall, observer, refusalOf: outbound.refusalOf },
    ...{ files: executionFiles, onExecuted: metrics.executed, limits },
  })
  const callbacks = await openCallbacks({ ...common, secrets: secrets.callbacks, outbound, source: publicUrl, runs })
  const changes = openSessionChanges({ ...common, store: sessionStore, chats, artifacts })

  let isStopping = false
  const services = {
    ...{
      agent: agents.current,
      approvals,
      artifacts,
      callbacks,
      changes,
      runs: chats,
      configuration,
      memories,
      metrics,
      openCalls,
      runStore: runs,
      subAgents,
    },
    ...{ sessions: createSessions(sessionStore), tools: directly, observability: createObservability(createRunReports(database)) },
    ...{ ping: () => database.ping(), isStopping: () => isStopping },
  }
  const { verifier, adminKeyFile } = access
  // Callbacks name the address that the service has when it listens.
  const onListen = () => void jobs.handle('callback', callbackConcurrency, callbacks.deliver)
  const http = {
    settings,
    version,
    log,
    verifier,
    limits: limits.requests,
    meter: metrics.requests,
    services,
    address: publicUrl,
    onListen,
    streamKeepAliveMs,
  }
  const { app, take } = await openHttp(stack, http)
  if (frontDoor) onListen()
  holder.onLost(async (graceMs) => {
    await executions.endLost(holder.id, graceMs, now())
    await chats.adopt(graceMs)
  })
  await keepPruned(common)
  follow()

  const resources = stack.move()
  async function close(drainMs: number, noticeMs = 0): Promise<void> {
    isStopping = true
    // Without its database a service stops too: what it had is taken up when its lease has run out.
    const tried = (step: Promise<void>) => step.catch((err: unknown) => log.error({ err }, 'The service stops with something undone'))
    await Promise.all([chats.drain(drainMs), directly.drain(drainMs), pause(noticeMs)].map(tried))
    await tried(holder.release())
    await tried(jobs.drain(jobDrainMs))
    await tried(resources.disposeAsync())
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

/** Each may take as long as its receiver lets it. */
const callbackConcurrency = 128

/** What runs ended with a moment ago is tried; the rest is done after the next start. */
const jobDrainMs = 3000
