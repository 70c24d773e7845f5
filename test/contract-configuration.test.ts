import assert from 'node:assert/strict'
import { readdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { startService, type ServiceOptions, type TestService } from './service-fixture.ts'
import type { Client, Reply } from './service-client.ts'

const place = '/core/v1/agent/config'

interface Configured extends TestService {
  admin: Client
  get(): Promise<Reply>
  put(configuration: unknown, more?: object, headers?: Record<string, string>): Promise<Reply>
  file(): Promise<string>
  backups(): Promise<string[]>
}

async function start(t: Pick<TestContext, 'after'>, options: ServiceOptions = { script: {} }): Promise<Configured> {
  const service = await startService(t, options)
  const admin = await service.as({ sub: 'root', roles: ['admin'] })
  const backups = path.join(service.settings.dataDir, 'config-backups')
  return Object.assign(service, {
    admin,
    get: () => admin.request('GET', place),
    put: (configuration: unknown, more = {}, headers = {}) => admin.request('PUT', place, { body: { configuration, ...more }, headers }),
    file: () => readFile(service.settings.agentConfig, 'utf8'),
    backups: async () => (await readdir(backups).catch(() => [])).map((name) => path.join(backups, name)),
  })
}

const faultsOf = ({ status, body }: Reply): unknown[] => {
  const places = body.detail.map((fault: { loc: unknown[] }) => fault.loc.join('.')) as string[]
  return [status, ...places.toSorted()]
}

const secretive = (base = 'https://models.example/v1') => `# Ours.
description: First.  # what it is
llms:
  primary:
    provider: openai-compatible
    model: one
    base_url: ${base}
    api_key: sk-first  # from the vault
    headers: {x-team: team-secret}
  fallback:
    - {provider: openai, model: two, api_key: sk-second}
tools:
  - name: calculator  # sums
  - name: current_time
`

test('Agent configuration: it is shown whole, with defaults, version and etag, and without secrets', async (t) => {
  const { get } = await start(t, { yaml: secretive('https://me:pw-secret@models.example/v1?token=query-secret') })
  const { status, body, headers, text } = await get()
  assert.deepEqual([status, Object.keys(body).sort()], [200, ['configuration', 'timestamp', 'version']])
  assert.doesNotMatch(text, /sk-|team-secret|pw-secret|query-secret/)
  assert.deepEqual(body.configuration.llms.primary, {
    ...{ provider: 'openai-compatible', model: 'one', api_key: '********', headers: { 'x-team': '********' } },
    base_url: 'https://********@models.example/v1?********',
  })
  assert.deepEqual([body.configuration.max_iterations, body.configuration.description], [25, 'First.'])
  assert.match(body.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}$/)
  assert.equal(headers.get('etag'), `"${body.version}"`)
})

test('Agent configuration: only keys of the administrators’ tenant with the permission may read or change it', async (t) => {
  const { as, url } = await start(t)
  for (const [who, read, write] of [
    [{ roles: ['user'] }, 403, 403],
    [{ roles: ['operator'] }, 200, 403],
    [{ roles: ['admin'], tenant: 'other' }, 403, 403],
    [{ roles: ['admin'] }, 200, 200],
  ] as const) {
    const client = await as({ ...who, roles: [...who.roles] })
    const got = await client.request('GET', place)
    const put = await client.request('PUT', place, { body: { configuration: { description: 'x' } } })
    assert.deepEqual([got.status, put.status], [read, write], JSON.stringify(who))
    if (write === 403) assert.match(put.body.body, /^RBAC: access denied.*config\.write/)
  }
  assert.equal((await fetch(url + place)).status, 401)
})

test('Agent configuration: a change merges, is stored with its comments, backed up, and in use at once', async (t) => {
  const { get, put, file, backups, settings, client } = await start(t, { yaml: secretive() })
  const before = await file()
  const first = (await get()).body.version
  const { status, body, headers } = await put({ description: 'Second.', max_execution_time: 120, llms: { primary: { model: 'new' } } })
  assert.deepEqual([status, body.success, body.previous_config_backup], [200, true, true])
  assert.deepEqual(body.diff.toSorted(), ['description', 'llms.primary.model', 'max_execution_time'])
  assert.deepEqual([headers.get('etag'), body.version === first], [`"${body.version}"`, false])
  assert.match(body.timestamp, /^[^Z]+$/)

  const now = (await get()).body
  assert.deepEqual([now.version, now.configuration.description, now.configuration.llms.primary.model], [body.version, 'Second.', 'new'])
  assert.equal((await client.request('GET', '/core/v1/metadata')).body.body.description, 'Second.')
  assert.equal(await file(), `${before.replace('First.', 'Second.').replace('model: one', 'model: new')}max_execution_time: 120\n`)
  const [backup, ...others] = await backups()
  assert.ok(backup && others.length === 0)
  assert.ok(body.message.includes(path.basename(backup)))
  assert.deepEqual([await readFile(backup, 'utf8'), (await stat(backup)).mode & 0o777], [before, 0o600])
  assert.equal((await stat(path.join(settings.dataDir, 'config-backups'))).mode & 0o777, 0o700)
})

test('Agent configuration: objects merge, null removes, lists replace', async (t) => {
  const { get, put, file } = await start(t, { yaml: secretive() })
  assert.equal((await put({ tools: [{ name: 'current_time' }], description: null, memory: { history_tokens: 1000 } })).status, 200)
  const { configuration } = (await get()).body
  assert.deepEqual(configuration.tools, [{ name: 'current_time' }])
  assert.equal(configuration.description, 'Answers questions with its tools.')
  assert.deepEqual(configuration.memory, { recall: 8, history_tokens: 1000 })
  assert.doesNotMatch(await file(), /description|calculator|recall/)
  assert.equal((await put({ llms: { primary: { headers: null } } })).status, 200)
  assert.equal((await get()).body.configuration.llms.primary.headers, undefined)
})

test('Agent configuration: a result that is not valid is refused with each fault and its path, and nothing changes', async (t) => {
  const { get, put, admin, file, backups } = await start(t, { yaml: secretive() })
  const before = [await file(), (await get()).text]
  const refused = await put({ llms: { primary: { provider: 'nobody', temperature: 9 } }, tools: [{ name: 'a b' }], colour: 'red' })
  assert.deepEqual(faultsOf(refused), [
    422,
    'body.configuration.colour',
    'body.configuration.llms.primary.api_key',
    'body.configuration.llms.primary.headers.x-team',
    'body.configuration.llms.primary.provider',
    'body.configuration.llms.primary.temperature',
    'body.configuration.tools.0.name',
    'body.configuration.tools.0.type',
  ])
  for (const fault of refused.body.detail) assert.ok(fault.msg && fault.type, JSON.stringify(fault))
  for (const [body, at] of [
    [{ configuration: {}, dry_run: true }, 'body'],
    [{ validate_only: true }, 'body.configuration'],
    [{ configuration: [] }, 'body.configuration'],
    [{ configuration: null }, 'body.configuration'],
    [{ configuration: {}, validate_only: 'yes' }, 'body.validate_only'],
    [{ configuration: { constructor: { name: 'x' } } }, 'body.configuration.constructor'],
    [{ configuration: { access: { roles: { constructor: ['chat'] } } } }, 'body.configuration.access.roles.constructor'],
    ['{"configuration": {"__proto__": {"name": "x"}}}', 'body'],
    ['{"configuration": {"tools": [{"name": "calculator", "config": {"prototype": {}}}]}}', 'body.configuration.tools.0.config.prototype'],
  ] as const) {
    const reply = await admin.request('PUT', place, { body })
    assert.deepEqual([reply.status, reply.body.detail[0].loc.join('.')], [422, at], JSON.stringify(body))
  }
  const unmade = await put({ llms: { fallback: [{ provider: 'openai', model: 'x' }] } })
  assert.deepEqual(faultsOf(unmade), [422, 'body.configuration.llms.fallback.0'])
  assert.match(unmade.body.detail[0].msg, /api_key/)
  assert.deepEqual([await file(), (await get()).text, await backups()], [...before, []])
})
