import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { execPath } from 'node:process'
import { after, before, test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { stringify } from 'yaml'
import { startMcpServer } from '../fixtures/mcp-http-server.ts'
import { startModelServer } from '../fixtures/model-server.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import type { Client, Reply } from '../fixtures/service-client.ts'
import { startService, type ServiceOptions, type TestService } from '../fixtures/service.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

const place = '/core/v1/agent/config'
const yaml = `# Ours.
description: First.  # what it is
llms:
  primary: {provider: embedded, model: rules-1}
tools:
  - name: calculator  # sums
`

interface Replica extends TestService {
  admin: Client
  get(): Promise<Reply>
  put(configuration: unknown, more?: object, headers?: Record<string, string>): Promise<Reply>
  file(): Promise<string>
  edit(change: (text: string) => string): Promise<void>
}

type Environment = Record<string, string>

async function newDatabase(): Promise<Environment> {
  return { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }
}

async function start(t: TestContext, environment: Environment, options: ServiceOptions = {}): Promise<Replica> {
  const service = await startService(t, { yaml, ...options, environment: { ...environment, ...options.environment } })
  const admin = await service.as({ sub: 'root', roles: ['admin'] })
  const file = service.settings.agentConfig
  const read = () => readFile(file, 'utf8')
  return Object.assign(service, {
    admin,
    get: () => admin.request('GET', place),
    put: (configuration: unknown, more = {}, headers = {}) => admin.request('PUT', place, { body: { configuration, ...more }, headers }),
    file: read,
    edit: async (change: (text: string) => string) => writeFile(file, change(await read())),
  })
}

async function startThree(t: TestContext, environment: Environment): Promise<[Replica, Replica, Replica]> {
  return [await start(t, environment), await start(t, environment), await start(t, environment)]
}

async function until<T>(find: () => Promise<T>, isSo: (found: T) => boolean): Promise<T> {
  const end = Date.now() + 30_000
  for (;;) {
    const found = await find()
    if (isSo(found)) return found
    if (Date.now() > end) throw new Error(`It did not happen: ${JSON.stringify(found)}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Returns the value shown by all replicas, once all replicas show the same value. */
async function agreed<T>(replicas: readonly Replica[], pick: (body: any) => T, isSo: (value: T) => boolean = () => true): Promise<T> {
  const shown = () => Promise.all(replicas.map(async (one) => (await one.get()).text))
  const texts = await until(shown, (all) => new Set(all).size === 1 && isSo(pick(JSON.parse(all[0]!))))
  return pick(JSON.parse(texts[0]!))
}

test('Agent configuration: every replica shows the same version, also right after its start, and serves a change with its etag', async (t) => {
  const replicas = await startThree(t, await newDatabase())
  const [a, b] = replicas
  const first = await agreed(replicas, (body) => body.version)
  const startedAt = performance.now()
  const { status, body, headers } = await a.put({ description: 'Second.' })
  assert.deepEqual(
    { status, diff: body.diff, previous_config_backup: body.previous_config_backup },
    { status: 200, diff: ['description'], previous_config_backup: true },
  )
  assert.ok(body.message.includes(first), 'what was stored before is kept as the version before')
  const there = await until(b.get, (reply) => reply.headers.get('etag') === headers.get('etag'))
  t.diagnostic(`served elsewhere after ${Math.round(performance.now() - startedAt)} ms`)
  assert.equal(there.body.configuration.description, 'Second.')
  assert.equal((await b.client.request('GET', '/core/v1/metadata')).body.body.description, 'Second.')
  assert.equal(await agreed(replicas, (one) => one.version), body.version)
  // Each replica writes its own file, and keeps the comments of the file.
  const expected = yaml.replace('First.', 'Second.')
  for (const one of replicas) await until(one.file, (text) => text === expected)
  const joined = await start(t, (({ DATABASE_URL, SECRET_KEY }) => ({ DATABASE_URL, SECRET_KEY }))(environmentOf(a)))
  assert.deepEqual({ text: (await joined.get()).text, file: await joined.file() }, { text: (await a.get()).text, file: expected })
})

function environmentOf({ settings }: TestService): Environment & { DATABASE_URL: string; SECRET_KEY: string } {
  return { DATABASE_URL: settings.databaseUrl!, SECRET_KEY: 'x'.repeat(32) }
}

test('Agent configuration: changes at once on two replicas are all in effect, and if-match lets one of them win', async (t) => {
  const replicas = await startThree(t, await newDatabase())
  const [a, b, c] = replicas
  const roles = Array.from({ length: 50 }, (_, index) => `r${index}`)
  const put = (role: string, index: number) =>
    (index % 2 === 0 ? a : b).put({ access: { roles: { [role]: ['chat'] } } }, index % 5 === 0 ? { in_memory_only: true } : {})
  const replies = await Promise.all(roles.map(put))
  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200])
  assert.equal(new Set(replies.map(({ body }) => body.version)).size, roles.length)
  const kept = await agreed(
    replicas,
    (body) => Object.keys(body.configuration.access.roles),
    (found) => found.length === roles.length,
  )
  assert.deepEqual(kept.toSorted(), roles.toSorted())
  const etag = (await c.get()).headers.get('etag')!
  const racing = await Promise.all(replicas.map((one, n) => one.put({ max_iterations: n + 2 }, {}, { 'if-match': etag })))
  assert.deepEqual(
    racing.map(({ status }) => status).toSorted((x, y) => x - y),
    [200, 412, 412],
  )
})

test('Agent configuration: in_memory_only applies to all replicas, also joining replicas, and ends when the last replica stops', async (t) => {
  const environment = await newDatabase()
  const a = await start(t, environment)
  const { body } = await a.put({ name: 'Memory' }, { in_memory_only: true })
  const b = await start(t, environment)
  assert.deepEqual(
    { agreed: await agreed([a, b], (one) => one.version), name: (await b.get()).body.configuration.name },
    { agreed: body.version, name: 'Memory' },
  )
  const stored = await b.put({ description: 'Stored.' })
  assert.equal(stored.status, 200)
  assert.deepEqual(
    await agreed(
      [a, b],
      (one) => [one.configuration.name, one.configuration.description],
      ([, text]) => text === 'Stored.',
    ),
    ['Memory', 'Stored.'],
  )
  assert.doesNotMatch(await b.file(), /Memory/)
  await a.close(0)
  await b.restart()
  // `b` was the last replica, and stopped.
  const admin = await b.as({ sub: 'root', roles: ['admin'] })
  const again = (await admin.request('GET', place)).body
  assert.deepEqual(
    { name: again.configuration.name, description: again.configuration.description },
    { name: 'Agent Core', description: 'Stored.' },
  )
  assert.notEqual(again.version, stored.body.version)
})

test('Agent configuration: one edit of the file on three replicas is one change, and a restart with a former text is none', async (t) => {
  const environment = await newDatabase()
  const replicas = await startThree(t, environment)
  const [a, b] = replicas
  const before = await agreed(replicas, (body) => body.version)
  await Promise.all(replicas.map((one) => one.edit((text) => text.replace('First.', 'By hand.'))))
  await agreed(
    replicas,
    (body) => body.configuration.description,
    (text) => text === 'By hand.',
  )
  assert.deepEqual(await versionsOf(environment), ['seed', 'edit'])
  assert.notEqual((await a.get()).body.version, before)
  // A pod starts with the former file.
  const old = await start(t, environment)
  assert.equal((await old.get()).text, (await a.get()).text)
  assert.equal(await old.file(), yaml.replace('First.', 'By hand.'))
  // A new file at a start takes effect, along with changes made through the API.
  await b.put({ name: 'By PUT' })
  const fresh = await start(t, environment, { yaml: yaml.replace('First.', 'Rolled out.') })
  assert.deepEqual(
    await agreed(
      [...replicas, old, fresh],
      (body) => [body.configuration.description, body.configuration.name],
      ([text]) => text === 'Rolled out.',
    ),
    ['Rolled out.', 'By PUT'],
  )
  assert.match(await fresh.file(), /# what it is[\s\S]*name: By PUT/)
  assert.deepEqual(await versionsOf(environment), ['seed', 'edit', 'put', 'edit'])
})

test('Agent configuration: a restored former file is in effect again', async (t) => {
  const environment = await newDatabase()
  const [a, b] = [await start(t, environment), await start(t, environment)]
  await a.put({ description: 'Second.' })
  await until(b.file, (text) => text.includes('Second.'))
  await b.edit(() => yaml)
  await agreed(
    [a, b],
    (body) => body.configuration.description,
    (text) => text === 'First.',
  )
  await until(a.file, (text) => text === yaml)
  // The same holds while the service is stopped.
  await a.put({ description: 'Third.' })
  await until(b.file, (text) => text.includes('Third.'))
  await b.close(0)
  await b.edit(() => yaml)
  await b.restart()
  await until(a.get, ({ body }) => body.configuration.description === 'First.')
})

test('Agent configuration: an invalid edit is logged and stays in the file, while changes through the API still work', async (t) => {
  const [a, b] = await startThree(t, await newDatabase())
  await a.edit((text) => `${text}colour: red\n`)
  await until(
    async () => a.log,
    (lines) => lines.some((line) => line.includes('agent.yaml:') && line.includes('colour')),
  )
  const { status, body } = await a.put({ name: 'x' })
  assert.deepEqual({ status, success: body.success }, { status: 200, success: true })
  assert.match(body.warnings.join(), /colour/)
  assert.match(await a.file(), /colour: red/)
  await until(b.file, (text) => text.includes('name: x'))
  await a.edit((text) => text.replace('colour: red', 'max_iterations: 7'))
  assert.deepEqual(
    await agreed(
      [a, b],
      ({ configuration }) => [configuration.name, configuration.max_iterations],
      ([, n]) => n === 7,
    ),
    ['x', 7],
  )
  await until(a.file, (text) => text.includes('name: x') && text.includes('max_iterations: 7'))
})

test('Agent configuration: with an invalid file the version of the database is used, and a missing file is written', async (t) => {
  const environment = await newDatabase()
  const a = await start(t, environment)
  const { body } = await a.put({ name: 'x' })
  const invalid = await start(t, environment, { yaml: 'tools: 5\n' })
  assert.equal((await invalid.get()).body.version, body.version)
  assert.ok(invalid.log.some((line) => JSON.parse(line).level === 50 && line.includes('tools')))
  await invalid.close(0)
  await rm(invalid.settings.agentConfig)
  await invalid.restart()
  await until(invalid.file, (text) => text.includes('name: x'))
})

test('Agent configuration: a file that cannot be written is reported once and is not an error; the database has the change', async (t) => {
  const environment = await newDatabase()
  // No draft can be created beside a file with such a long name, not even by root.
  const a = await start(t, environment, { environment: { AGENT_CONFIG: `${'a'.repeat(245)}.yaml` } })
  const b = await start(t, environment)
  for (const name of ['x', 'y']) {
    const { status, body } = await a.put({ name })
    assert.deepEqual(
      { status, previous_config_backup: body.previous_config_backup, warnings: body.warnings },
      { status: 200, previous_config_backup: true, warnings: [] },
    )
    await until(b.get, (reply) => reply.body.version === body.version)
  }
  assert.equal(await a.file(), yaml)
  assert.equal(a.log.filter((line) => line.includes('cannot be written')).length, 1)
  await a.restart()
  await until(b.file, (text) => text === `${yaml}name: y\n`)
  assert.equal((await b.get()).body.configuration.name, 'y')
  // An edit rolled out to such a file takes effect, along with changes that the file never contained.
  await a.edit((text) => text.replace('First.', 'By hand.'))
  await until(b.get, ({ body }) => body.configuration.description === 'By hand.' && body.configuration.name === 'y')
})

test('Agent configuration: a replica that cannot use a change logs the reason and keeps the former version until it can', async (t) => {
  const environment = await newDatabase()
  const a = await start(t, environment, { environment: { CONFIG_ENV: 'SMALL_KEY', SMALL_KEY: 'k' } })
  const b = await start(t, environment)
  const before = (await b.get()).body.version
  const small = { provider: 'openai-compatible', model: 'm', base_url: 'http://127.0.0.1:9/v1', api_key: '${SMALL_KEY}' }
  const put = await a.put({ llms: { small } })
  assert.equal(put.status, 200)
  const behind = await until(b.get, ({ body }) => body.warnings !== undefined)
  assert.equal(behind.body.version, before)
  assert.match(behind.body.warnings.join(), /llms\.small.*SMALL_KEY/)
  assert.equal((await fetch(`${b.url}/health/ready`)).status, 200)
  assert.equal((await b.client.chat('hello')).status, 200)
  const mended = await a.put({ llms: { small: null } })
  const now = await until(b.get, ({ body }) => body.version === mended.body.version)
  assert.equal(now.body.warnings, undefined)
  assert.ok(b.log.some((line) => JSON.parse(line).level === 50 && line.includes('SMALL_KEY')))
})

test('Agent configuration: a run keeps its initial configuration when a change is made on another replica', async (t) => {
  const seen: string[] = []
  const model = await startModelServer((request, index) => {
    seen.push(request.body.messages[0].content.split('\n')[0])
    if (index === 0)
      return { text: ['Let me ', 'see. '], pauseMs: 400, calls: [{ name: 'calculator', arguments: '{"expression": "6*7"}' }] }
    return { text: 'Done.' }
  })
  t.after(() => model.close())
  const own = yaml.replace(
    '{provider: embedded, model: rules-1}',
    `{provider: openai-compatible, model: m, base_url: "${model.url}", api_key: k}`,
  )
  const environment = await newDatabase()
  const options = { yaml: `instructions: Old.\n${own}` }
  const [a, b] = [await start(t, environment, options), await start(t, environment, options)]
  const stream = await b.client.stream('go')
  await stream.next()
  const { body } = await a.put({ instructions: 'New.', tools: [{ name: 'current_time' }] })
  await until(b.get, (reply) => reply.body.version === body.version)
  const chunks = (await stream.rest()).map(({ chunk }) => chunk)
  assert.equal(chunks.find(({ step }) => step)?.step?.status, 'success')
  await b.client.chat('again')
  assert.deepEqual(seen, ['Old.', 'Old.', 'New.'])
})

test('Agent configuration: connections to MCP servers survive a change on every replica', async (t) => {
  const mcp = await startMcpServer()
  t.after(() => mcp.close())
  const environment = await newDatabase()
  const options = { yaml: `${yaml}  - {name: remote, type: mcp, config: {url: "${mcp.url}"}}\n` }
  const replicas = [await start(t, environment, options), await start(t, environment, options)]
  const connections = () => mcp.requests.filter(({ body }) => ['initialize', 'server/discover'].includes(body?.method)).length
  const before = connections()
  assert.ok(before >= 2)
  const { body } = await replicas[0]!.put({ name: 'x', tools: [{ name: 'remote', type: 'mcp', config: { url: mcp.url } }] })
  await agreed(
    replicas,
    ({ version }) => version,
    (version) => version === body.version,
  )
  for (const { client } of replicas) {
    const called = await client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'remote__moody', tool_input: {} } })
    assert.deepEqual([called.status, called.body.status], [200, 'success'])
  }
  assert.equal(connections(), before)
})

test('Agent configuration: changes still work while connections to the database are cut', async (t) => {
  const environment = await newDatabase()
  const replicas = await startThree(t, environment)
  const [a, b] = replicas
  const client = new pg.Client(environment['DATABASE_URL'])
  await client.connect()
  const cut = 'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = current_database()'
  const roles = Array.from({ length: 20 }, (_, index) => `r${index}`)
  const putting = Promise.all(roles.map((role, index) => (index % 2 === 0 ? a : b).put({ access: { roles: { [role]: ['chat'] } } })))
  for (let times = 0; times < 5; times++) {
    await client.query(cut)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  await client.end()
  const replies = await putting
  assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200])
  await agreed(
    replicas,
    (body) => Object.keys(body.configuration.access.roles).length,
    (count) => count === roles.length,
  )
})

/** Kinds of the stored versions, oldest first. */
async function versionsOf({ DATABASE_URL }: Environment): Promise<string[]> {
  const client = new pg.Client(DATABASE_URL)
  await client.connect()
  try {
    const { rows } = await client.query<{ kind: string; content: string }>('select kind, content from configurations order by n')
    for (const { content } of rows) assert.doesNotMatch(content, /calculator/)
    return rows.map(({ kind }) => kind)
  } finally {
    await client.end()
  }
}

test('Replicas: the history is one, and a version restored at one replica is in use on all', async (t) => {
  const environment = await newDatabase()
  const [a, b, c] = await startThree(t, environment)
  const history = async ({ admin }: Replica) => (await admin.request('GET', `${place}/history`)).body
  assert.equal((await a.put({ description: 'Second.' })).status, 200)
  assert.equal((await b.put({ name: 'Memory' }, { in_memory_only: true })).status, 200)
  const { versions } = await history(c)
  assert.deepEqual(
    versions.map(({ kind, by, diff }: { kind: string; by: string; diff: string[] }) => [kind, by, ...diff]),
    [
      ['memory', 'agent-core root', 'name'],
      ['put', 'agent-core root', 'description'],
      ['seed', 'file'],
    ],
  )
  const restored = await c.admin.request('POST', `${place}/restore`, { body: { version: versions[2].version } })
  assert.deepEqual([restored.status, restored.body.diff], [200, ['description']], restored.text)
  for (const replica of [a, b, c]) {
    const shown = await until(replica.get, ({ body }) => body.version === restored.body.version)
    assert.deepEqual([shown.body.configuration.description, shown.body.configuration.name], ['First.', 'Memory'])
  }
  assert.equal((await history(a)).versions[0].kind, 'restore')
})

test('Replicas: a text with masked secrets that is sent to one replica is stored for all', async (t) => {
  const environment = await newDatabase()
  const secretive = yaml.replace('model: rules-1', 'model: rules-1, api_key: sk-kept')
  const options = { yaml: secretive }
  const [a, b] = [await start(t, environment, options), await start(t, environment, options)]
  const shown = await a.admin.request('GET', `${place}?format=yaml`)
  assert.match(shown.text, /^# Ours\.[^]*api_key: "\*{8}"/)
  const headers = { 'content-type': 'application/yaml', 'if-match': shown.headers.get('etag')! }
  const body = shown.text.replace('First.  # what it is', 'Text.  # changed')
  const updated = await b.admin.request('PUT', place, { body, headers })
  assert.deepEqual([updated.status, updated.body.diff], [200, ['description']], updated.text)
  await until(a.get, (reply) => reply.body.version === updated.body.version)
  await until(a.file, (text) => text.includes('description: Text.  # changed') && text.includes('api_key: sk-kept'))
  assert.equal((await a.admin.request('PUT', place, { body, headers })).status, 412)
})

test('Replicas: a changed MCP tool that is accepted at one replica is in use on all', async (t) => {
  const environment = await newDatabase()
  const notes = path.join(await mkdtemp(path.join(tmpdir(), 'pinned-')), 'description')
  t.after(() => rm(path.dirname(notes), { recursive: true, force: true }))
  const rawServer = fileURLToPath(new URL('../fixtures/raw-mcp-server.ts', import.meta.url))
  const tools = [{ name: 's', type: 'mcp', config: { command: execPath, args: [rawServer, 'changes', notes], pin: true } }]
  await writeFile(notes, 'One.')
  const options = { yaml: stringify({ tools }) }
  const first = await start(t, environment, options)
  await first.close(0)
  await writeFile(notes, 'Two.')
  const [a, b] = [await start(t, environment, options), await start(t, environment, options)]
  const statusOf = async ({ admin }: Replica) => {
    const { body } = await admin.request('GET', '/core/v1/tools')
    return body.tools.find(({ name }: { name: string }) => name === 's__moody')?.status as string | undefined
  }
  for (const replica of [a, b])
    await until(
      () => statusOf(replica),
      (status) => status === 'error',
    )
  const changed = (await b.admin.request('GET', '/core/v1/tools/changed')).body.tools
  assert.deepEqual(
    changed.map(({ name, changes }: { name: string; changes: string[] }) => [name, ...changes]),
    [['s__moody', 'description changed']],
  )
  assert.equal((await b.admin.request('POST', '/core/v1/tools/s__moody/accept', { body: {} })).status, 200)
  for (const replica of [a, b])
    await until(
      () => statusOf(replica),
      (status) => status === 'ready',
    )
})
