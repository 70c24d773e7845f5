import { randomUUIDv7 } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { ensureAdminKey } from './access/admin-key.ts'
import { openSigningKey } from './access/keys.ts'
import { createRequestLimits } from './access/rate-limits.ts'
import { createRevocations } from './access/revocation.ts'
import type { CustomRoles } from './access/permissions.ts'
import { createVerifier } from './access/verify.ts'
import type { Agent } from './configuration/agent.ts'
import type { Environment } from './configuration/references.ts'
import { createDocumentCache } from './files/document-cache.ts'
import { createImages } from './files/images.ts'
import { openFilesRoot } from './files/root.ts'
import { artifactRoutes } from './http/routes/artifacts.ts'
import { asyncRoutes } from './http/routes/async.ts'
import { configurationRoutes } from './http/routes/configuration.ts'
import { chatRoutes } from './http/routes/chat.ts'
import { docsRoutes, documentRoutes, openApiRoute } from './http/routes/docs.ts'
import { healthRoutes } from './http/routes/health.ts'
import { memoryRoutes } from './http/routes/memories.ts'
import { metadataRoutes } from './http/routes/metadata.ts'
import { observabilityRoutes } from './http/routes/observability.ts'
import { prometheusRoute } from './http/routes/prometheus.ts'
import { runRoutes } from './http/routes/runs.ts'
import { sessionRoutes } from './http/routes/sessions.ts'
import { subAgentRoutes } from './http/routes/sub-agents.ts'
import { toolRoutes } from './http/routes/tools.ts'
import { withOtherMethods } from './http/other-methods.ts'
import { createServer } from './http/server.ts'
import { createAttachments } from './runs/attachments.ts'
import { createGuardedFetch } from './outbound/guarded-fetch.ts'
import { createAdmission } from './runs/admission.ts'
import { createChats } from './runs/chat.ts'
import { createDirectExecution } from './runs/direct-execution.ts'
import { createObservability } from './runs/observability.ts'
import { logEnd, logFault, logSummary } from './runs/run-log.ts'
import { createSummaries } from './runs/summary.ts'
import { createWorkers } from './runs/workers.ts'
import { together } from './runs/run-observer.ts'
import { createSessionChanges, type SessionHooks } from './sessions/session-changes.ts'
import { createSessions } from './sessions/sessions.ts'
import { openAgents } from './service-agents.ts'
import { openArtifacts } from './service-artifacts.ts'
import { openCallbacks } from './service-callbacks.ts'
import { openMemory } from './service-memory.ts'
import { openTracing } from './service-tracing.ts'
import type { Settings } from './settings.ts'
import type { Database } from './store/database.ts'
import { createAccessKeyStore } from './store/access-keys.ts'
import { createExecutionStore } from './store/executions.ts'
import { keepHolder } from './store/holder.ts'
import { countJobs, createJobs } from './store/jobs.ts'
import { openDatabase } from './store/open.ts'
import { createRunReports } from './store/run-reports.ts'
import { createRunStore } from './store/runs.ts'
import { createSessionStore } from './store/sessions.ts'
import { createSigningKeyFile } from './store/signing-key-file.ts'
import { createSubAgentStore } from './store/sub-agents.ts'
import { createSummaryStore } from './store/summaries.ts'
import { createSubAgents } from './sub-agents/sub-agents.ts'
import { createMetrics } from './metrics/metrics.ts'
import { watchStrain } from './metrics/strain.ts'
import { createReadOf } from './tools/files/read-file.ts'

export interface Service {
  app: FastifyInstance
  /** The current one. */
  readonly agent: Agent
  /** Path of the administrator's key. */
  adminKeyFile: string
  /** Takes nothing new, waits `drainMs` at most for what runs, and closes everything. */
  close(drainMs: number): Promise<void>
}

export interface ServiceOptions {
  settings: Settings
  environment: Environment
  version: string
  log: Logger
}

/**
 * The wiring: every adapter meets its port here. The data directory must be held by the caller. Throws `ConfigError` for a file that holds
 * no configuration that can be used.
 */
export async function createService({ settings, environment, version, log }: ServiceOptions): Promise<Service> {
  // Closed in reverse order: at the end, and where the start fails half-way.
  await using stack = new AsyncDisposableStack()
  const now = Date.now
  const newId = randomUUIDv7
  const database = stack.adopt(await openDatabase(settings), (one) => one.close())
  const holder = stack.adopt(await keepHolder(database, { id: newId(), now, log }), (one) => one.close())

  const cacheDir = path.join(settings.dataDir, 'cache')
  await mkdir(cacheDir, { recursive: true, mode: 0o700 })
  const files = await openFilesRoot(settings.filesRoot)
  const tools = { files, cacheDir }
  const { agents, configuration, follow } = await openAgents(stack, { settings, environment, tools, now, newId, log })
  const access = await openAccess(stack, database, settings, { customRoles: () => agents.current().config.access.roles, now, log })
  const common = { agent: agents.current, holder: holder.id, now, newId }
  const runs = createRunStore(database)
  const executions = createExecutionStore(database)
  const jobs = stack.adopt(createJobs(database, { now, log }), (one) => one.drain(0))
  const pause = (ms: number, signal?: AbortSignal) => sleep(ms, undefined, { signal })
  const sessionStore = createSessionStore(database)
  const sessions = createSessions(sessionStore)
  const publicUrl = () => settings.publicUrl ?? boundAddress(app, settings.host)
  const { artifacts, keeper, executionFiles } = openArtifacts(stack, {
    ...{ database, settings, sessions: sessionStore, signing: access.signing, publicUrl, log },
    ...common,
  })
  const tracing = await openTracing(stack, { tracing: settings.tracing, version, log })
  const metrics = createMetrics({ runs: () => chats.counts(), jobs: () => countJobs(database), now })
  const observer = tracing ? together([metrics.observer, tracing.observer]) : metrics.observer
  const watchers = { onFault: logFault(log), onEnd: logEnd(log, now), observer }
  const documents = createDocumentCache()
  const attachments = createAttachments({ files, documents, images: createImages() })
  const readTool = createReadOf({ files, documents })
  const onSubAgentFault = (err: unknown) => log.error({ err }, 'The state of a sub-agent could not be stored')
  const { isShared } = database
  const subAgents = createSubAgents({ ...common, store: createSubAgentStore(database), isShared, onFault: onSubAgentFault })
  const workers = createWorkers(() => agents.current().config.limits.async_concurrency)
  const outbound = stack.adopt(createGuardedFetch({ allowed: settings.outboundAllow }), (one) => one.close())
  const asynchronous = { workers, refusalOf: outbound.refusalOf }
  const { memories, recall } = openMemory(database, { ...common, jobs, log })
  const strain = stack.adopt(watchStrain(), (one) => one.close())
  const admission = createAdmission({ ...common, ...strain })
  const chats = createChats({
    ...common,
    ...watchers,
    ...asynchronous,
    admission,
    keeper,
    attachments,
    readTool,
    recall,
    subAgents,
    store: runs,
    jobs,
    sleep: pause,
  })
  const callbacks = await openCallbacks({ settings, database, outbound, source: publicUrl, runs, jobs, now, newId, sleep: pause })
  const directly = createDirectExecution({
    ...common,
    refuse: () => admission.refuseExecution(chats.load()),
    onExecuted: metrics.executed,
    files: executionFiles,
    store: executions,
    sleep: pause,
  })
  jobs.handle(
    'summary',
    summaryConcurrency,
    createSummaries({ ...common, store: createSummaryStore(database, runs), onFailure: logSummary(log) }),
  )
  /** Who keeps something under a session's key. */
  const sessionHooks: SessionHooks[] = [
    { onDeleted: (_tenant, key) => artifacts.deleteAll(key), onForked: (_tenant, from, to) => artifacts.copyAll(from, to) },
  ]
  const sessionRuns = { cancel: chats.cancelAll, stopGone: chats.stopGone }
  const changes = createSessionChanges({ store: sessionStore, runs: sessionRuns, hooks: sessionHooks, wake: jobs.wake, newId, now })
  jobs.handle('session_deleted', 1, async ({ tenant, data }) => {
    for (const hook of sessionHooks) await hook.onDeleted(tenant, data.session)
    return { kind: 'done' }
  })

  let isStopping = false
  const ping = () => database.ping()
  const limits = createRequestLimits({ limits: () => agents.current().config.access.rate_limits, now: () => performance.now() })
  const app = createServer({ log, verifier: access.verifier, limits, meter: metrics.requests, bodyLimit: settings.httpBodyLimit })
  stack.adopt(app, closeServer)
  await documentRoutes(app, { version, publicUrl: settings.publicUrl })
  // They name the address that the service has when it listens.
  app.addHook('onListen', async () => jobs.handle('callback', callbackConcurrency, callbacks.deliver))
  withOtherMethods(app, () => {
    chatRoutes(app, { chats, ...common })
    asyncRoutes(app, { chats, ...common })
    sessionRoutes(app, { sessions, changes })
    runRoutes(app, { chats, runs, callbacks })
    memoryRoutes(app, { memories })
    subAgentRoutes(app, { subAgents })
    toolRoutes(app, { ...common, tools: directly })
    prometheusRoute(app, { read: metrics.read, isPublic: settings.metricsPublic, adminTenant: settings.adminTenant })
    observabilityRoutes(app, { observability: createObservability(createRunReports(database)) })
    artifactRoutes(app, { artifacts })
    metadataRoutes(app, common)
    configurationRoutes(app, { configuration })
    healthRoutes(app, { ping, isStopping: () => isStopping })
    openApiRoute(app)
  })
  await docsRoutes(app)
  await app.ready()
  holder.onLost(async () => {
    await executions.endLost(holder.id, now())
    await chats.adopt()
  })

  follow()
  const resources = stack.move()
  async function close(drainMs: number): Promise<void> {
    isStopping = true
    await Promise.all([chats.drain(drainMs), directly.drain(drainMs)])
    await jobs.drain(jobDrainMs)
    await resources.disposeAsync()
  }
  return {
    app,
    get agent() {
      return agents.current()
    },
    adminKeyFile: access.adminKeyFile,
    close,
  }
}

/** Each may take as long as its receiver lets it. */
const callbackConcurrency = 32

/** They ask a model; a chat should not have to wait for them. */
const summaryConcurrency = 2

/** What runs ended with a moment ago is tried; the rest is done after the next start. */
const jobDrainMs = 3000

interface AccessOptions {
  customRoles: () => CustomRoles
  now: () => number
  log: Logger
}

/** Who may come in: the signing key, revocations, and the administrator's key in its file. */
async function openAccess(stack: AsyncDisposableStack, database: Database, settings: Settings, { customRoles, now, log }: AccessOptions) {
  const { adminTenant, accessProvider: provider, dataDir } = settings
  const store = createAccessKeyStore(database)
  const signing = await openSigningKey(createSigningKeyFile(dataDir))
  const revocations = await createRevocations(store, { now, onError: (err) => log.warn({ err }, 'revocations') })
  stack.adopt(revocations, (one) => one.close())
  const { isRevoked } = revocations
  const verifier = createVerifier({ signing, provider, adminTenant, customRoles, isRevoked, now })
  const { file } = await ensureAdminKey({ folder: dataDir, tenant: adminTenant, signing, verifier, store, now })
  return { signing, verifier, adminKeyFile: file }
}

const lastBytesMs = 1000

/** What was answered gets its time to arrive; a stream of a run that did not end in time would hold us for ever. */
async function closeServer(app: FastifyInstance): Promise<void> {
  const cut = setTimeout(() => app.server.closeAllConnections(), lastBytesMs)
  await app.close()
  clearTimeout(cut)
}

/** Where clients reach the service when nobody says otherwise; known once it listens. */
function boundAddress(app: FastifyInstance, host: string): string {
  const bound = app.server.address()
  const port = bound !== null && typeof bound === 'object' ? bound.port : 0
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
