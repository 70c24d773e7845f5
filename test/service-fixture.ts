import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { stringify } from 'yaml'
import { toRecord } from '../src/access/keys/access-key-store.ts'
import { createKey, type KeyClaims } from '../src/access/keys/keys.ts'
import type { SigningKey } from '../src/access/keys/signing-key.ts'
import { openSigningKeys } from '../src/access/keys/signing-keys.ts'
import type { Tool } from '../src/agent/tool.ts'
import { createService, type Service } from '../src/service.ts'
import { openSecrets } from '../src/service/secrets.ts'
import { loadSettings, type Settings } from '../src/settings/settings.ts'
import { createAccessKeyStore } from '../src/store/secrets/access-keys.ts'
import type { Database } from '../src/store/database.ts'
import { openDatabase } from '../src/store/open.ts'
import { startModelServer, type ModelScript, type ModelServer } from './model-server.ts'
import { openApiCheck } from './openapi-check.ts'
import { createClient, type Client } from './service-client.ts'

export interface ServiceOptions {
  /** What the model says. Without it the embedded model answers. On a database that another service uses, that one's script counts. */
  script?: ModelScript
  /** Parts of agent.yaml; `llms` wins over `script`. */
  config?: Record<string, unknown>
  /** The text of agent.yaml, in the place of `script` and `config`. */
  yaml?: string
  /** Tools beside the configured ones. */
  tools?: Tool[]
  /** Under the files root: path and content. */
  files?: Record<string, string | Uint8Array>
  environment?: Record<string, string>
  /** Of silence, after which a stream has a comment. */
  streamKeepAliveMs?: number
}

export interface Who {
  sub?: string
  tenant?: string
  roles?: string[]
  expiresInSeconds?: number
}

export interface TestService {
  url: string
  settings: Settings
  service: Service
  model: ModelServer
  /** A user's client. */
  client: Client
  /** All that was logged. */
  log: string[]
  key(who?: Who): Promise<{ key: string; claims: KeyClaims }>
  as(who?: Who): Promise<Client>
  /** Beside the service, as the command line does it. */
  revoke(claims: KeyClaims): Promise<void>
  /** Lets what runs go on for `drainMs`. */
  close(drainMs: number): Promise<void>
  /** Closes it and starts it again on the same data. */
  restart(): Promise<void>
}

/** A whole service on a folder of its own and a free port of loopback, with a scripted model; closed when the test ends. */
export async function startService(t: Pick<TestContext, 'after'>, options: ServiceOptions = {}): Promise<TestService> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-core-'))
  // Hooks run in this order: the service may write until it is closed.
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }))
  const model = await modelOf(t, options)
  const settings = loadSettings({ PORT: '0', ...options.environment }, folder)
  await writeFiles(settings.filesRoot, options.files ?? {})
  const llms = { primary: options.script ? scripted(model) : { provider: 'embedded', model: 'rules-1' } }
  await writeFile(settings.agentConfig, options.yaml ?? stringify({ llms, ...options.config }))
  const log: string[] = []
  let started = await start(settings, options, log)
  t.after(() => test.close(0))

  const key: TestService['key'] = async ({ sub = 'ann', tenant = 'default', roles = ['user'], expiresInSeconds = 3600 } = {}) => {
    return createKey(await signingKeyOf(settings), { sub, tenant, roles, expiresInSeconds, now: Date.now() })
  }
  const as = async (who?: Who) => createClient(started.url, (await key(who)).key, openApiCheck(started.service.app))

  const test: TestService = {
    url: started.url,
    settings,
    service: started.service,
    model,
    log,
    client: await as(),
    key,
    as,
    revoke: (claims) => revoke(settings, claims),
    close: (drainMs) => started.close(drainMs),
    async restart() {
      await started.close(0)
      started = await start(settings, options, log)
      Object.assign(test, { url: started.url, service: started.service, client: await as() })
    },
  }
  return test
}

/** Of those that share a database: they have one configuration, and with it one model, that of the first. */
const models = new Map<string, Promise<ModelServer>>()

async function modelOf(t: Pick<TestContext, 'after'>, { script, environment = {} }: ServiceOptions): Promise<ModelServer> {
  const database = environment['DATABASE_URL']
  const known = database === undefined ? undefined : models.get(database)
  if (known) return known
  const started = startModelServer(script)
  if (database !== undefined) models.set(database, started)
  const model = await started
  t.after(() => model.close())
  return model
}

async function start(settings: Settings, options: ServiceOptions, lines: string[]) {
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) })
  const { environment = {}, streamKeepAliveMs } = options
  const service = await createService({ settings, environment, version: '0.0.0', log, ...(streamKeepAliveMs && { streamKeepAliveMs }) })
  // Chats wait for this; a direct execution would be told that its tool is not ready.
  await service.agent.tools.settling()
  addTools(service, options.tools ?? [])
  await service.app.listen({ port: 0, host: '127.0.0.1' })
  let closing: Promise<void> | undefined
  const close = (drainMs: number) => (closing ??= service.close(drainMs))
  return { service, close, url: `http://127.0.0.1:${(service.app.server.address() as AddressInfo).port}` }
}

/** The scripted server as an entry of `llms`. */
export function scripted({ url }: ModelServer): Record<string, unknown> {
  return { provider: 'openai-compatible', model: 'scripted', base_url: url, api_key: 'model-secret-key' }
}

function addTools({ agent }: Service, tools: Tool[]): void {
  const configured = agent.tools.list.bind(agent.tools)
  const own = tools.map((tool) => ({ ...tool, status: 'ready' as const, tool }))
  agent.tools.list = () => [...configured(), ...own]
}

async function writeFiles(root: string, files: Record<string, string | Uint8Array>): Promise<void> {
  await mkdir(root, { recursive: true })
  for (const [name, content] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(root, name)), { recursive: true })
    await writeFile(path.join(root, name), content)
  }
}

function revoke(settings: Settings, claims: KeyClaims): Promise<void> {
  return withDatabase(settings, async (database) => {
    const register = createAccessKeyStore(database)
    await register.insert(toRecord(claims))
    await register.revoke(claims.jti, Date.now())
  })
}

/** The key that signs for a service now. */
export function signingKeyOf(settings: Settings): Promise<SigningKey> {
  return withDatabase(settings, async (database) => {
    const { signingKeys } = await openSecrets(database, settings, Date.now)
    return (await openSigningKeys(signingKeys, Date.now)).newest()
  })
}

async function withDatabase<T>(settings: Settings, use: (database: Database) => Promise<T>): Promise<T> {
  const database = await openDatabase(settings)
  try {
    return await use(database)
  } finally {
    await database.close()
  }
}
