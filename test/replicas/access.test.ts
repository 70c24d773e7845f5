import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { after, before, test, type TestContext } from 'node:test'
import { createFolder, runIn } from '../../src/cli/terminal-fixture.ts'
import { until } from '../fixtures/async-client.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { createClient } from '../fixtures/service-client.ts'
import { startService, type ServiceOptions, type TestService } from '../fixtures/service.ts'
import { callOf, gatedTool } from '../fixtures/tools.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

const [old, next] = ['o'.repeat(32), 'n'.repeat(32)]

async function newDatabase(SECRET_KEY = old) {
  return { DATABASE_URL: await server.createDatabase(), SECRET_KEY }
}

async function startTwo(t: TestContext, options: ServiceOptions = {}) {
  const environment = { ...(await newDatabase()), ...options.environment }
  const [a, b] = [await startService(t, { ...options, environment }), await startService(t, { ...options, environment })]
  const elsewhere = await createFolder(t)
  const cli = async (...args: string[]) => {
    const { code, out, err } = await runIn(elsewhere, ['keys', ...args], environment)
    assert.deepEqual({ code, err }, { code: 0, err: '' }, args.join(' '))
    return out.trim()
  }
  return { a, b, cli, environment, elsewhere }
}

const adminKeyOf = async ({ settings }: TestService) => (await readFile(path.join(settings.dataDir, 'admin.key'), 'utf8')).trim()
const statusAt = async ({ url }: TestService, key: string) => (await createClient(url, key).request('GET', '/core/v1/sessions')).status

test('Access: a key created by a replica or the command line works on all replicas, also on an empty joining replica', async (t) => {
  const { a, b, cli, environment, elsewhere } = await startTwo(t)
  const made = await cli('create', '--sub', 'ada')
  const admin = await adminKeyOf(a)
  assert.equal(await adminKeyOf(b), admin)
  for (const key of [made, admin, (await a.key()).key]) assert.deepEqual([await statusAt(a, key), await statusAt(b, key)], [200, 200])
  const joined = await startService(t, { environment })
  assert.deepEqual({ statusAt: await statusAt(joined, made), adminKeyOf: await adminKeyOf(joined) }, { statusAt: 200, adminKeyOf: admin })
  // All replicas share the administrator's key.
  assert.equal((await cli('list')).match(/\badmin\b +admin\b/g)?.length, 1)
  for (const { settings } of [a, b, joined]) {
    const kept = (await readdir(settings.dataDir)).filter((name) => /key|secret/.test(name))
    assert.deepEqual(kept, ['admin.key'])
  }
  assert.deepEqual(await readdir(elsewhere), [])
})

test('Access: a key that is revoked on any machine is refused by every replica', async (t) => {
  const { a, b, cli } = await startTwo(t)
  const { key, claims } = await a.key()
  assert.deepEqual([await statusAt(a, key), await statusAt(b, key)], [200, 200])
  await a.revoke(claims)
  const made = await cli('create', '--sub', 'ada')
  assert.deepEqual([await statusAt(a, made), await statusAt(b, made)], [200, 200])
  const { jti } = JSON.parse(Buffer.from(made.split('.')[1]!, 'base64url').toString()) as { jti: string }
  assert.equal(await cli('revoke', jti), `Revoked ${jti}.`)
  for (const one of [a, b]) for (const revoked of [key, made]) await until(async () => (await statusAt(one, revoked)) === 401, Boolean)
})

test('Access: after a rotation new keys work everywhere at once, and earlier keys until they expire', async (t) => {
  const { a, b, cli } = await startTwo(t)
  const before = await cli('create', '--sub', 'ada', '--expires', '60d')
  const admin = await adminKeyOf(a)
  const said = await cli('rotate')
  const [, last = ''] = /the last expires at (\S+)\.$/.exec(said) ?? []
  assert.ok(Math.abs(Date.parse(last) - Date.now() - 60 * 86_400_000) < 600_000, said)
  const after = await cli('create', '--sub', 'ada')
  const kidOf = (key: string) => (JSON.parse(Buffer.from(key.split('.')[0]!, 'base64url').toString()) as { kid: string }).kid
  assert.notEqual(kidOf(after), kidOf(before))
  for (const key of [after, before, admin]) assert.deepEqual([await statusAt(b, key), await statusAt(a, key)], [200, 200])

  assert.match(await cli('rotate', '--now'), /All existing access keys are invalid/)
  const newest = await cli('create', '--sub', 'ada')
  assert.deepEqual([await statusAt(b, newest), await statusAt(a, newest)], [200, 200])
  for (const key of [after, before, admin]) assert.deepEqual([await statusAt(b, key), await statusAt(a, key)], [401, 401])
  const renewed = await until(
    async () => [await adminKeyOf(a), await adminKeyOf(b)],
    ([one, other]) => one !== admin && one === other,
  )
  assert.equal(await statusAt(b, renewed[0]!), 200)
})

test('Artifacts: a link signed by one replica is valid on all, also after a rotation', async (t) => {
  const write = callOf('write_file', { file_name: 'a.txt', content: 'x' })
  const { a, b, cli } = await startTwo(t, {
    script: ({ body }) => (body.messages.at(-1).role === 'tool' ? { text: 'done' } : write),
    config: { tools: [{ name: 'write_file' }] },
  })
  await a.client.chat('go', { 'session-id': 's', 'request-id': 'r' })
  const download = () => a.client.request('GET', '/core/v1/download_artifact/1/0', { headers: { 'session-id': 's' } })
  const link = new URL(((await download()).body as { body: { download_url: string } }).body.download_url)
  const statusOf = async ({ url }: TestService, search = link.search) => (await fetch(new URL(link.pathname + search, url))).status
  const lastChunk = (await (await b.client.follow('r')).rest()).at(-1)!.chunk
  const [outcomeFile] = (await b.client.run('r')).body.outcome.generated_artifacts
  for (const url of [lastChunk.generated_artifacts![0]!.download_url!, outcomeFile.download_url]) {
    assert.equal(new URL(url).origin, b.url)
    assert.equal(await statusOf(a, new URL(url).search), 200)
  }
  // The bytes are on the second replica's disk.
  assert.deepEqual([await statusOf(a), await statusOf(b), await statusOf(b, `${link.search}x`)], [200, 404, 403])
  await cli('rotate')
  await until(async () => (await statusAt(b, await cli('create', '--sub', 'ada'))) === 200, Boolean)
  assert.deepEqual([await statusOf(a), await statusOf(b)], [200, 404])
  await cli('rotate', '--now')
  for (const one of [a, b]) await until(async () => (await statusOf(one)) === 403, Boolean)
})

test('SECRET_KEY is rotated by restarting the replicas one by one; keys and secrets in use stay valid', async (t) => {
  const { a, environment, cli } = await startTwo(t)
  const [key, admin, callbacks] = [await cli('create', '--sub', 'ada'), await adminKeyOf(a), await cli('callback-secret')]
  // During the rotation, old replicas keep running while the new replica encrypts the secrets again.
  const both = await startService(t, { environment: { ...environment, SECRET_KEY: `${next} ${old}` } })
  assert.match(both.log.join('\n'), /\d+ secrets of the database are now encrypted with the first key of SECRET_KEY/)
  assert.deepEqual([await statusAt(a, key), await statusAt(both, key)], [200, 200])
  assert.equal(await adminKeyOf(both), admin)
  const folder = await createFolder(t)
  const doctor = async (SECRET_KEY: string) => (await runIn(folder, ['doctor'], { ...environment, SECRET_KEY })).out
  assert.match(
    await doctor(`${next} ${old}`),
    /ok .*secrets: all \d+ are encrypted with the first key of SECRET_KEY; the second key can be removed/,
  )
  assert.match(await doctor(`${old} ${next}`), /warn .*secrets: \d+ of \d+ are encrypted with the second key of SECRET_KEY/)
  assert.match(await doctor(old), /fail .*secrets: SECRET_KEY is not the key/)
  const alone = await startService(t, { environment: { ...environment, SECRET_KEY: next } })
  assert.deepEqual({ statusAt: await statusAt(alone, key), adminKeyOf: await adminKeyOf(alone) }, { statusAt: 200, adminKeyOf: admin })
  const secret = await runIn(folder, ['keys', 'callback-secret'], { ...environment, SECRET_KEY: next })
  assert.deepEqual(secret, { code: 0, out: `${callbacks}\n`, err: '' })

  const line = /^SECRET_KEY is not the key that encrypted the [^\n]+ in the database\. Set SECRET_KEY to that key, [^\n]+$/
  await assert.rejects(startService(t, { environment }), { name: 'WrongSecretKey', message: line })
  const refused = await runIn(folder, ['keys', 'create', '--sub', 'ada'], environment)
  assert.deepEqual({ code: refused.code, out: refused.out }, { code: 1, out: '' })
  assert.match(refused.err.trim(), line)
  assert.equal(await statusAt(alone, key), 200)
})

test('a copy of the database holds no secret in the clear', async (t) => {
  const yaml = 'llms: {primary: {provider: openai-compatible, model: m, base_url: "http://127.0.0.1:1", api_key: sk-in-the-clear}}'
  const { a, cli, environment } = await startTwo(t, { yaml })
  await cli('rotate')
  const secrets = [await adminKeyOf(a), await cli('callback-secret'), await cli('create', '--sub', 'ada'), 'sk-in-the-clear', '"d":', old]
  const dump = await dumpOf(environment.DATABASE_URL)
  assert.match(dump, /"name":"signing keys","sealed":"v1\./)
  for (const secret of secrets) {
    const bytes = secret.startsWith('whsec_') ? [secret.slice(6)] : []
    for (const text of [secret, ...bytes]) assert.ok(!dump.includes(text), text.slice(0, 12))
  }
})

test('a service that moves to a shared database keeps its secrets, from the files of its data directory', async (t) => {
  const alone = await startService(t)
  const key = (await alone.key()).key
  const dataDir = alone.settings.dataDir
  const before = await runIn(path.dirname(dataDir), ['keys', 'callback-secret'])
  await alone.close(0)
  const environment = { ...(await newDatabase()), DATA_DIR: dataDir }
  const first = await startService(t, { environment })
  const told = first.log.filter((line) => line.includes('was imported into the database')).join('\n')
  assert.match(told, /signing-key\.json/)
  assert.match(told, /callback-secret/)
  const other = await startService(t, { environment: { ...environment, DATA_DIR: await createFolder(t) } })
  assert.deepEqual([await statusAt(first, key), await statusAt(other, key)], [200, 200])
  assert.deepEqual(await runIn(await createFolder(t), ['keys', 'callback-secret'], { ...environment, DATA_DIR: '' }), before)
  // The secrets of a later service are ignored.
  const late = await startService(t)
  const lost = (await late.key()).key
  await late.close(0)
  const joined = await startService(t, { environment: { ...environment, DATA_DIR: late.settings.dataDir } })
  assert.match(joined.log.join('\n'), /signing-key\.json is not used: the database has other signing keys/)
  assert.equal(await statusAt(joined, lost), 401)
})

test('Callbacks: signatures stay valid for a database from before secrets were stored in it', async (t) => {
  const environment = await newDatabase()
  const folder = await createFolder(t)
  await query(environment.DATABASE_URL, "insert into access_keys values ('j', 'default', 'admin', '[]', 1, 2, null)")
  // RFC 5869 (HKDF) by hand: extract without salt, then expand to the single required block.
  const extracted = createHmac('sha256', Buffer.alloc(32)).update(old).digest()
  const derived = createHmac('sha256', extracted).update('agent-core callbacks\u0001').digest('base64')
  const secret = await runIn(folder, ['keys', 'callback-secret'], environment)
  assert.deepEqual(secret, { code: 0, out: `whsec_${derived}\n`, err: '' })
  const renewed = await runIn(folder, ['keys', 'callback-secret'], { ...environment, SECRET_KEY: `${next} ${old}` })
  assert.equal(renewed.out, secret.out)
})

test('Access: rate limits count the requests of a caller on all replicas', async (t) => {
  const { a, b } = await startTwo(t, { config: { access: { rate_limits: { user: { requests_per_minute: 6 } } } } })
  const key = (await a.key()).key
  const spent = await Promise.all(Array.from({ length: 5 }, () => statusAt(a, key)))
  assert.ok(spent.every((status) => status === 200))
  // Each poll counts on either replica.
  const seen = await until(
    () => statusAt(b, key),
    (status) => status === 429,
  )
  assert.equal(seen, 429)
  await until(
    () => statusAt(a, key),
    (status) => status === 429,
  )
  assert.equal(await statusAt(b, (await b.key({ sub: 'bob' })).key), 200)
})

test('Access: concurrent runs are counted over all replicas; sequential requests are never refused', async (t) => {
  const gate = gatedTool('wait')
  const { a, b } = await startTwo(t, {
    tools: [gate.tool],
    script: ({ body }) => (body.messages.at(-1).content === 'wait' ? callOf('wait') : { text: 'done' }),
    config: { access: { rate_limits: { default: { concurrent_runs: 1 } } } },
  })
  for (let n = 0; n < 20; n++) assert.equal((await (n % 2 ? a : b).client.chat('quick')).status, 200)
  const running = a.client.chat('wait')
  await gate.entered
  const refused = await until(
    () => b.client.chat('quick'),
    ({ status }) => status !== 200,
  )
  assert.deepEqual({ status: refused.status, error_type: refused.body.details.error_type }, { status: 429, error_type: 'RateLimited' })
  assert.equal((await (await b.as({ sub: 'bob' })).chat('quick')).status, 200)
  gate.open()
  assert.equal((await running).status, 200)
  assert.equal((await b.client.chat('quick')).status, 200)
})

async function query<T extends object>(url: string, text: string): Promise<T[]> {
  const { default: pg } = await import('pg')
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query<T>(text)).rows
  } finally {
    await client.end()
  }
}

async function dumpOf(url: string): Promise<string> {
  const named = "select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables"
  const tables = await query<{ name: string }>(url, `${named} where schemaname not in ('pg_catalog', 'information_schema')`)
  const rows = await Promise.all(tables.map(({ name }) => query<{ row: unknown }>(url, `select row_to_json(one) as row from ${name} one`)))
  return JSON.stringify(rows)
}
