import { randomUUIDv7 } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { ensureAdminKey } from './access/admin-key.ts'
import { openSigningKey } from './access/keys.ts'
import { createRevocations } from './access/revocation.ts'
import { createVerifier } from './access/verify.ts'
import type { Agent } from './configuration/agent.ts'
import { configVersion } from './configuration/parse.ts'
import type { Environment } from './configuration/references.ts'
import type { AgentConfig } from './configuration/schema.ts'
import { openFilesRoot } from './files/root.ts'
import { chatRoutes } from './http/routes/chat.ts'
import { docsRoutes, documentRoutes } from './http/routes/docs.ts'
import { healthRoutes } from './http/routes/health.ts'
import { metadataRoutes } from './http/routes/metadata.ts'
import { runRoutes } from './http/routes/runs.ts'
import { sessionRoutes } from './http/routes/sessions.ts'
import { toolRoutes } from './http/routes/tools.ts'
import { withOtherMethods } from './http/other-methods.ts'
import { createServer } from './http/server.ts'
import { createConnections } from './models/connections.ts'
import { createModels } from './models/create-model.ts'
import { createChats } from './runs/chat.ts'
import { createDirectExecution } from './runs/direct-execution.ts'
import { logEnd, logFault } from './runs/run-log.ts'
import { createSessions } from './sessions/sessions.ts'
import type { Settings } from './settings.ts'
import { createAccessKeyStore } from './store/access-keys.ts'
import { createExecutionStore } from './store/executions.ts'
import { keepHolder } from './store/holder.ts'
import { openDatabase } from './store/open.ts'
import { createRunStore } from './store/runs.ts'
import { createSessionStore } from './store/sessions.ts'
import { createSigningKeyFile } from './store/signing-key-file.ts'
import { createToolCatalog } from './tools/catalog.ts'

export interface Service {
  app: FastifyInstance
  agent: Agent
  /** Path of the administrator's key. */
  adminKeyFile: string
  /** Takes nothing new, waits `drainMs` at most for what runs, and closes everything. */
  close(drainMs: number): Promise<void>
}

export interface ServiceOptions {
  settings: Settings
  config: AgentConfig
  environment: Environment
  version: string
  log: Logger
}

const lastBytesMs = 1000

/** The wiring: every adapter meets its port here. The data directory must be held by the caller. */
export async function createService({ settings, config, environment, version, log }: ServiceOptions): Promise<Service> {
  const now = Date.now
  const newId = randomUUIDv7
  const cacheDir = path.join(settings.dataDir, 'cache')
  await mkdir(cacheDir, { recursive: true, mode: 0o700 })

  const database = await openDatabase(settings)
  const holder = await keepHolder(database, { id: newId(), now, log })
  const runs = createRunStore(database)
  const accessKeys = createAccessKeyStore(database)

  const connections = createConnections()
  const tools = createToolCatalog(config.tools, { files: await openFilesRoot(settings.filesRoot), cacheDir, log })
  const agent: Agent = { version: configVersion(config), config, model: createModels(config.llms, { environment, connections }), tools }

  const signing = await openSigningKey(createSigningKeyFile(settings.dataDir))
  const revocations = await createRevocations(accessKeys, { now, onError: (err) => log.warn({ err }, 'revocations') })
  const { adminTenant, accessProvider: provider } = settings
  const { isRevoked } = revocations
  const verifier = createVerifier({ signing, provider, adminTenant, customRoles: () => config.access.roles, isRevoked, now })
  const adminKey = await ensureAdminKey({ folder: settings.dataDir, tenant: adminTenant, signing, verifier, store: accessKeys, now })

  const common = { agent: () => agent, holder: holder.id, now, newId }
  const onFault = logFault(log)
  const chats = createChats({
    ...common,
    store: runs,
    sleep: (ms, signal) => sleep(ms, undefined, { signal }),
    onFault,
    onEnd: logEnd(log, now),
  })
  const executions = createExecutionStore(database)
  const executeTool = createDirectExecution({ ...common, store: executions })
  const sessions = createSessions(createSessionStore(database))

  let isStopping = false
  const app = createServer({ log, verifier, bodyLimit: settings.httpBodyLimit })
  await documentRoutes(app, { version, publicUrl: settings.publicUrl })
  withOtherMethods(app, () => {
    chatRoutes(app, { chats, ...common })
    sessionRoutes(app, { sessions })
    runRoutes(app, { chats, runs })
    toolRoutes(app, { ...common, executeTool })
    metadataRoutes(app, common)
    healthRoutes(app, { ping: () => database.ping(), isStopping: () => isStopping })
  })
  await docsRoutes(app)
  await app.ready()
  holder.onLost(async () => {
    await executions.endLost(holder.id, now())
    await chats.adopt()
  })

  async function close(drainMs: number): Promise<void> {
    isStopping = true
    await chats.drain(drainMs)
    // What was answered gets its time to arrive; a stream of a run that did not end in time would hold us for ever.
    const cut = setTimeout(() => app.server.closeAllConnections(), lastBytesMs)
    await app.close()
    clearTimeout(cut)
    await tools.close()
    await connections.close()
    await revocations.close()
    await holder.close()
    await database.close()
  }

  return { app, agent, adminKeyFile: adminKey.file, close }
}
