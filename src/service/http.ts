import path from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Artifacts } from '../artifacts/artifacts.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import type { Configuration } from '../configuration/configuration.ts'
import type { PinStore } from '../configuration/tool-pins/pin-store.ts'
import type { ContextFiles } from '../files/context-files.ts'
import { openBundle, consoleRoutes, rootRoute } from '../http/pages/console.ts'
import { acceptInherited, type InheritedConnections } from '../http/server/connection.ts'
import { withOtherMethods } from '../http/server/other-methods.ts'
import type { ConsoleSessions } from '../access/console/console-sessions.ts'
import type { IdentityProvider } from '../access/console/identity-provider.ts'
import type { AccessKeys } from '../access/keys/access-keys.ts'
import { a2aHttpRoutes } from '../http/doors/a2a/http-binding.ts'
import { a2aRoutes } from '../http/doors/a2a/routes.ts'
import { accessRoutes } from '../http/resources/access.ts'
import { agUiRoutes } from '../http/doors/ag-ui/routes.ts'
import { apiPageRoutes } from '../http/pages/api-page.ts'
import { approvalRoutes } from '../http/doors/core/approvals.ts'
import { artifactRoutes } from '../http/resources/artifacts.ts'
import { asyncRoutes } from '../http/doors/core/async.ts'
import { changedToolRoutes } from '../http/resources/changed-tools.ts'
import { callbackListRoute, runListRoute } from '../http/resources/run-list.ts'
import { chatRoutes } from '../http/doors/core/chat.ts'
import { contextFileRoutes } from '../http/resources/context-files.ts'
import { configurationHistoryRoutes } from '../http/resources/configuration-history.ts'
import { configurationRoutes } from '../http/resources/configuration.ts'
import { consoleSessionRoutes } from '../http/resources/console-session.ts'
import { documentRoutes, openApiRoute } from '../http/openapi/routes.ts'
import { documentationRoutes } from '../http/pages/documentation.ts'
import { healthRoutes, prometheusRoute, statusRoute } from '../http/resources/status.ts'
import { keyRoutes } from '../http/resources/keys.ts'
import { knowledgeRoutes } from '../http/resources/knowledge.ts'
import { mcpRoutes } from '../http/doors/mcp/routes.ts'
import { memoryRoutes } from '../http/resources/memories.ts'
import { agentModelRoutes, metadataRoutes } from '../http/resources/agent.ts'
import { observabilityRoutes } from '../http/resources/observability.ts'
import { openAiRoutes } from '../http/doors/openai/routes.ts'
import { createResourceMetadata, resourceMetadataRoutes } from '../http/doors/mcp/resource-metadata.ts'
import { runTraceRoutes } from '../http/resources/run-trace.ts'
import { runRoutes, viewRuns } from '../http/resources/runs.ts'
import { sessionRoutes } from '../http/resources/sessions.ts'
import { subAgentRoutes } from '../http/resources/sub-agents.ts'
import { toolRoutes } from '../http/resources/tools.ts'
import { uiChatRoutes } from '../http/doors/ui-chat/routes.ts'
import { createServer, type ServerOptions } from '../http/server/server.ts'
import type { Knowledge } from '../knowledge/knowledge.ts'
import type { Memories } from '../memory/memories.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { packageRoot } from '../package-root.ts'
import type { ApprovalStore } from '../runs/approvals/approval-store.ts'
import type { Approvals } from '../runs/approvals/approvals.ts'
import type { ListCallbacks } from '../runs/callbacks/callback-list.ts'
import type { Callbacks } from '../runs/callbacks/callbacks.ts'
import type { NotificationStore } from '../runs/callbacks/notifications.ts'
import type { RecentRunStore, ListRuns, SessionRuns } from '../runs/run-list.ts'
import type { Runs } from '../runs/runs.ts'
import type { DirectExecution } from '../runs/tool-executions/direct-execution.ts'
import type { Observability } from '../runs/reports/observability.ts'
import type { RunTraces } from '../runs/trace/run-traces.ts'
import type { EchoStore } from '../runs/log/echo-store.ts'
import type { RunStore } from '../runs/run-store.ts'
import type { SessionChanges } from '../sessions/session-changes.ts'
import type { Conversations } from '../sessions/conversations.ts'
import type { SessionStore } from '../sessions/session-store.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Settings } from '../settings/settings.ts'
import type { StatusReader } from './status.ts'
import type { SubAgents } from '../sub-agents/sub-agents.ts'
import type { Uploads } from '../uploads/uploads.ts'

/** Services that the routes call. */
interface RouteServices {
  agent: CurrentAgent
  approvals: Approvals
  artifacts: Artifacts
  callbacks: Callbacks
  changes: SessionChanges
  runs: Runs
  configuration: Configuration
  listCallbacks: ListCallbacks
  listRuns: ListRuns
  contextFiles: ContextFiles
  consoleSessions: ConsoleSessions
  identityProvider: IdentityProvider | undefined
  keys: AccessKeys
  knowledge: Knowledge
  memories: Memories
  metrics: Metrics
  observability: Observability
  openCalls: ApprovalStore
  notifications: NotificationStore
  refusalOf(url: string): Promise<string | undefined>
  pins: PinStore
  recentRuns: RecentRunStore
  runStore: RunStore
  sessionRuns: SessionRuns
  sessions: Sessions
  sessionStore: SessionStore
  conversations: Conversations
  echoes: EchoStore
  status: StatusReader
  subAgents: SubAgents
  tools: DirectExecution
  traces: RunTraces
  uploads: Uploads
  ping(): Promise<void>
  isStopping(): boolean
}

interface HttpOptions extends Omit<ServerOptions, 'bodyLimit' | 'publicUrl' | 'corsOrigins'> {
  settings: Settings
  version: string
  services: RouteServices
  /** The service's base URL for clients. */
  address(): string
  /** Folder of the built console; default: `dist/console` of the package. */
  consoleFolder?: string | undefined
  /** Folder of the built documentation; default: `dist/docs` of the package. */
  documentationFolder?: string | undefined
  /** Called when the service listens and its URL is known. */
  onListen(): void
}

interface OpenHttp extends Pick<InheritedConnections, 'take'> {
  app: FastifyInstance
}

/** Makes the server with all routes; the server does not listen yet. */
export async function openHttp(stack: AsyncDisposableStack, options: HttpOptions): Promise<OpenHttp> {
  const { settings, version, services } = options
  const { publicUrl, corsOrigins, metricsPublic: isPublic, adminTenant } = settings
  const app = createServer({ ...options, bodyLimit: settings.httpBodyLimit, publicUrl, corsOrigins })
  const inherited = acceptInherited(app.server)
  stack.defer(() => closeServer(app, inherited))
  // Must return nothing: Fastify logs any result of this hook as an error.
  app.addHook('onListen', async () => {
    options.onListen()
  })
  const bundle = await openBundle(options.consoleFolder ?? path.join(packageRoot, 'dist/console'))
  await documentRoutes(app, { version })
  const metadata = createResourceMetadata({ provider: settings.accessProvider, adminTenant, agent: services.agent })
  withOtherMethods(app, () => {
    chatRoutes(app, services)
    asyncRoutes(app, { ...services, limits: options.limits })
    openAiRoutes(app, services)
    agUiRoutes(app, services)
    uiChatRoutes(app, services)
    contextFileRoutes(app, services)
    sessionRoutes(app, services)
    runListRoute(app, services)
    runRoutes(app, services)
    runTraceRoutes(app, services)
    callbackListRoute(app, services)
    approvalRoutes(app, { ...services, view: viewRuns(services) })
    knowledgeRoutes(app, services)
    memoryRoutes(app, services)
    subAgentRoutes(app, services)
    toolRoutes(app, services)
    changedToolRoutes(app, services)
    prometheusRoute(app, { read: services.metrics.read, isPublic, adminTenant })
    observabilityRoutes(app, services)
    statusRoute(app, { ...services, adminTenant })
    artifactRoutes(app, services)
    metadataRoutes(app, services)
    agentModelRoutes(app, services)
    configurationRoutes(app, services)
    configurationHistoryRoutes(app, services)
    mcpRoutes(app, { ...services, version, publicUrl, metadata, limits: options.limits })
    resourceMetadataRoutes(app, metadata)
    const a2a = { ...services, version, address: options.address }
    a2aRoutes(app, a2a)
    a2aHttpRoutes(app, a2a)
    accessRoutes(app, { ...services, adminTenant })
    keyRoutes(app, services)
    consoleSessionRoutes(app, { ...services, verifier: options.verifier, now: Date.now })
    healthRoutes(app, services)
    consoleRoutes(app, bundle)
    documentationRoutes(app, options.documentationFolder ?? path.join(packageRoot, 'dist/docs'))
    openApiRoute(app, { publicUrl })
  })
  rootRoute(app)
  apiPageRoutes(app)
  await app.ready()
  return { app, take: inherited.take }
}

const lastBytesMs = 1000

/**
 * Closes the server. Answers get a moment to arrive; then open streams of unfinished runs are cut, which would block
 * the exit.
 */
async function closeServer(app: FastifyInstance, inherited: InheritedConnections): Promise<void> {
  const cut = setTimeout(() => app.server.closeAllConnections(), lastBytesMs)
  await app.close()
  await inherited.ended()
  clearTimeout(cut)
}

/** The default URL of the service, known once it listens. */
export function boundAddress(app: FastifyInstance, host: string): string {
  const bound = app.server.address()
  const port = bound !== null && typeof bound === 'object' ? bound.port : 0
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
