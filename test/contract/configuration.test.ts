import assert from 'node:assert/strict'
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parseAgentConfig } from '../../src/configuration/parse.ts'
import { startModelServer } from '../fixtures/model-server.ts'
import { startService, type ServiceOptions, type TestService } from '../fixtures/service.ts'
import type { Client, Reply } from '../fixtures/service-client.ts'

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

test('Agent configuration: GET shows it whole, with defaults, version and etag, and without secrets', async (t) => {
  const { get } = await start(t, { yaml: secretive('https://me:pw-secret@models.example/v1?token=query-secret') })
  const { status, body, headers, text } = await get()
  assert.deepEqual({ status, sort: Object.keys(body).sort() }, { status: 200, sort: ['configuration', 'timestamp', 'version'] })
  assert.doesNotMatch(text, /sk-|team-secret|pw-secret|query-secret/)
  assert.deepEqual(body.configuration.llms.primary, {
    ...{ provider: 'openai-compatible', model: 'one', api_key: '********', headers: { 'x-team': '********' } },
    base_url: 'https://********@models.example/v1?********',
  })
  assert.deepEqual(
    { max_iterations: body.configuration.max_iterations, description: body.configuration.description },
    { max_iterations: 25, description: 'First.' },
  )
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

test('Agent configuration: a change is merged, stored with its comments, backed up, and in use at once', async (t) => {
  const { get, put, file, backups, settings, client } = await start(t, { yaml: secretive() })
  const before = await file()
  const first = (await get()).body.version
  const { status, body, headers } = await put({ description: 'Second.', max_execution_time: 120, llms: { primary: { model: 'new' } } })
  assert.deepEqual(
    { status, success: body.success, previous_config_backup: body.previous_config_backup },
    { status: 200, success: true, previous_config_backup: true },
  )
  assert.deepEqual(body.diff.toSorted(), ['description', 'llms.primary.model', 'max_execution_time'])
  assert.deepEqual([headers.get('etag'), body.version === first], [`"${body.version}"`, false])
  assert.match(body.timestamp, /^[^Z]+$/)

  const now = (await get()).body
  assert.deepEqual(
    { version: now.version, description: now.configuration.description, model: now.configuration.llms.primary.model },
    { version: body.version, description: 'Second.', model: 'new' },
  )
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

test('Agent configuration: an invalid result is refused with the path of each fault, and nothing changes', async (t) => {
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
    [{ configuration: {}, dry_run: true }, 'body.dry_run'],
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
    assert.deepEqual({ status: reply.status, loc: reply.body.detail[0].loc.join('.') }, { status: 422, loc: at }, JSON.stringify(body))
  }
  const unmade = await put({ llms: { fallback: [{ provider: 'openai', model: 'x' }] } })
  assert.deepEqual(faultsOf(unmade), [422, 'body.configuration.llms.fallback.0'])
  assert.match(unmade.body.detail[0].msg, /api_key/)
  assert.deepEqual([await file(), (await get()).text, await backups()], [...before, []])
})

test('Agent configuration: validate_only tests tools and models, reports faults, and changes nothing', async (t) => {
  const { get, put, file, backups, model } = await start(t, { yaml: secretive() })
  const before = [await file(), (await get()).text]
  const well = await put({ llms: null }, { validate_only: true })
  assert.deepEqual(
    [well.status, well.body.success, well.body.previous_config_backup, typeof well.body.message, well.body.version],
    [200, true, false, 'string', undefined],
  )
  const { body } = await put(
    {
      llms: {
        primary: { provider: 'openai-compatible', model: 'scripted', base_url: model.url, api_key: 'k', headers: null },
        fallback: null,
      },
      tools: [{ name: 'sales', type: 'data_query', config: { tables: { sales: 'missing.csv' } } }, { name: 'calculator' }],
    },
    { validate_only: true },
  )
  assert.equal(model.requests.length, 1)
  assert.deepEqual(body.diff.toSorted(), [
    ...['llms.fallback[0]', 'llms.primary.api_key', 'llms.primary.base_url', 'llms.primary.headers', 'llms.primary.model'],
    ...['tools[current_time]', 'tools[sales]'],
  ])
  assert.equal(body.warnings.length, 1)
  assert.match(body.warnings[0], /^tools\[sales\]: .*missing\.csv/)
  const unreachable = { provider: 'openai-compatible', model: 'x', base_url: 'http://127.0.0.1:9/v1', api_key: 'k' }
  const told = await put({ llms: { small: unreachable } }, { validate_only: true })
  assert.ok(
    told.body.warnings.some((line: string) => line.startsWith('llms.small: ')),
    told.text,
  )
  const refused = await put({ llms: { small: { ...unreachable, temperature: 9 } } }, { validate_only: true })
  assert.deepEqual(faultsOf(refused), [422, 'body.configuration.llms.small.temperature'])
  const unmade = await put({ llms: { small: { provider: 'openai', model: 'x' } } }, { validate_only: true })
  assert.deepEqual(faultsOf(unmade), [422, 'body.configuration.llms.small'])
  assert.deepEqual([await file(), (await get()).text, await backups()], [...before, []])
})

test('Agent configuration: in_memory_only leaves the file alone and ends with the process; the file gets only later changes', async (t) => {
  const service = await start(t, { yaml: secretive() })
  const { get, put, file, backups } = service
  const before = await file()
  const first = await put({ name: 'Memory', max_iterations: 3 }, { in_memory_only: true })
  assert.deepEqual(
    { status: first.status, previous_config_backup: first.body.previous_config_backup, diff: first.body.diff.toSorted() },
    { status: 200, previous_config_backup: false, diff: ['max_iterations', 'name'] },
  )
  assert.deepEqual(
    { file: await file(), backups: await backups(), name: (await get()).body.configuration.name },
    { file: before, backups: [], name: 'Memory' },
  )
  const second = await put({ max_iterations: 4, description: 'Stored.' })
  assert.equal(second.body.previous_config_backup, true)
  const { configuration } = (await get()).body
  assert.deepEqual(
    { name: configuration.name, max_iterations: configuration.max_iterations, description: configuration.description },
    { name: 'Memory', max_iterations: 4, description: 'Stored.' },
  )
  assert.equal(await file(), `${before.replace('First.', 'Stored.')}max_iterations: 4\n`)
  await service.restart()
  const admin = await service.as({ sub: 'root', roles: ['admin'] })
  const again = (await admin.request('GET', place)).body.configuration
  assert.deepEqual(
    { name: again.name, max_iterations: again.max_iterations, description: again.description },
    { name: 'Agent Core', max_iterations: 4, description: 'Stored.' },
  )
})

test('Agent configuration: if-match of another version is 412 and changes nothing; changes are serialized', async (t) => {
  const { get, put, file } = await start(t, { yaml: secretive() })
  const etag = (await get()).headers.get('etag')!
  const before = await file()
  const stale = await put({ name: 'x' }, {}, { 'if-match': '"other"' })
  assert.deepEqual(
    { status: stale.status, status_code: stale.body.status_code, error_type: stale.body.details.error_type },
    { status: 412, status_code: 412, error_type: 'PreconditionFailed' },
  )
  assert.equal(await file(), before)
  // All requests name the same version: one succeeds, and no change is lost.
  const racing = await Promise.all([1, 2, 3, 4].map((n) => put({ max_iterations: n }, {}, { 'if-match': etag })))
  assert.deepEqual(
    racing.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 412, 412, 412],
  )
  const free = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((role) => put({ access: { roles: { [role]: ['chat'] } } })))
  const versions = free.map(({ body }) => body.version)
  assert.equal(new Set([...versions, etag]).size, 6)
  const now = await get()
  assert.deepEqual(Object.keys(now.body.configuration.access.roles).toSorted(), ['a', 'b', 'c', 'd', 'e'])
  assert.equal((await put({ name: 'y' }, {}, { 'if-match': now.headers.get('etag')! })).status, 200)
  assert.equal((await put({ name: 'z' }, {}, { 'if-match': '*' })).status, 200)
  // The same content again is another version.
  const back = [await put({ name: 'y' }), await put({ name: 'z' })].map(({ body }) => body.version)
  assert.equal(new Set([...versions, ...back]).size, 7)
})

test('Agent configuration: the shown configuration can be sent back whole without a change', async (t) => {
  const { get, put, file, backups } = await start(t, { yaml: secretive('https://me:pw-secret@models.example/v1?token=query-secret') })
  const before = await file()
  const shown = (await get()).body
  const { status, body } = await put(shown.configuration)
  assert.deepEqual(
    { status, diff: body.diff, version: body.version, previous_config_backup: body.previous_config_backup },
    { status: 200, diff: [], version: shown.version, previous_config_backup: false },
  )
  assert.deepEqual({ file: await file(), backups: await backups() }, { file: before, backups: [] })
  const changed = await put({ ...shown.configuration, name: 'New' })
  assert.deepEqual(changed.body.diff, ['name'])
  assert.equal(await file(), `${before}name: New\n`)
})

test('Agent configuration: a change during a chat applies to the next chat; the running chat keeps model, tools and instructions', async (t) => {
  const seen: string[] = []
  const { client, put, model } = await start(t, {
    config: { instructions: 'Old.', tools: [{ name: 'calculator' }], sub_agents: { may_create: false } },
    script: (request, index) => {
      seen.push(`${request.body.messages[0].content} ${(request.body.tools ?? []).map((tool: any) => tool.function.name).join()}`)
      if (index === 0)
        return { text: ['Let me ', 'see. '], pauseMs: 300, calls: [{ name: 'calculator', arguments: '{"expression": "6*7"}' }] }
      return { text: 'Done.' }
    },
  })
  const stream = await client.stream('go')
  await stream.next()
  const { status, body } = await put({ instructions: 'New.', tools: [{ name: 'current_time' }] })
  assert.deepEqual(
    { status, diff: body.diff.toSorted() },
    { status: 200, diff: ['instructions', 'tools[calculator]', 'tools[current_time]'] },
  )
  const chunks = (await stream.rest()).map(({ chunk }) => chunk)
  assert.equal(chunks.at(-1)?.finish_reason, 'stop')
  assert.equal(chunks.find(({ step }) => step)?.step?.status, 'success')
  await client.chat('again')
  assert.deepEqual(seen, ['Old. calculator', 'Old. calculator', 'New. current_time'])
  assert.equal(model.requests.length, 3)
  const direct = await client.request('POST', '/core/v1/tool/execute', {
    body: { tool_name: 'calculator', tool_input: { expression: '1' } },
  })
  assert.equal(direct.status, 404)
})

test('Agent configuration: a change of roles applies to existing keys', async (t) => {
  const { put, as } = await start(t)
  const auditor = await as({ roles: ['auditor'] })
  assert.equal((await auditor.request('GET', '/core/v1/tools')).status, 403)
  await put({ access: { roles: { auditor: ['tools.read'] } } })
  assert.equal((await auditor.request('GET', '/core/v1/tools')).status, 200)
  await put({ access: { roles: { auditor: null } } })
  assert.equal((await auditor.request('GET', '/core/v1/tools')).status, 403)
})

test('Agent configuration: a caller that may change it can neither read a secret nor run code', async (t) => {
  const evil = await startModelServer({ text: 'ok' })
  t.after(() => evil.close())
  const environment = {
    MODEL_KEY: 'env-secret',
    OTHER: 'other-secret',
    LISTED: 'listed',
    CONFIG_ENV: 'LISTED',
    AWS_SECRET_ACCESS_KEY: 'aws-secret',
  }
  const yaml = secretive().replace('sk-second', '"${MODEL_KEY}"')
  const { get, put, file, backups, client, log } = await start(t, { yaml, environment })
  const before = [await file(), (await get()).text]
  const { primary } = (await get()).body.configuration.llms
  const own = { provider: 'openai-compatible', model: 'm', base_url: evil.url }
  const attacks: [string, object, number][] = [
    ['the address alone', { llms: { primary: { base_url: evil.url } } }, 422],
    ['with the hidden key', { llms: { primary: { ...primary, base_url: evil.url } } }, 422],
    ['another provider', { llms: { primary: { provider: 'anthropic', base_url: evil.url } } }, 422],
    ['a hidden key elsewhere', { llms: { small: { ...own, api_key: '********' } } }, 422],
    ['a key moved in a list', { llms: { fallback: [{ ...own, api_key: '********' }] } }, 422],
    ['a variable in use', { llms: { small: { ...own, api_key: '${MODEL_KEY}' } } }, 422],
    [
      'a variable in use, in its entry',
      { llms: { fallback: [{ provider: 'openai', model: 'two', base_url: evil.url, api_key: '${MODEL_KEY}' }] } },
      422,
    ],
    ['a variable in a header', { llms: { small: { ...own, headers: { 'x-key': 'Bearer ${MODEL_KEY}' } } } }, 422],
    ['a variable in an address', { llms: { small: { ...own, base_url: `${evil.url}/\${OTHER}` } } }, 422],
    ['a variable of nobody', { llms: { small: { ...own, api_key: '${OTHER}' } } }, 422],
    ['one of the service', { llms: { small: { ...own, api_key: '${AWS_SECRET_ACCESS_KEY}' } } }, 422],
    ['beside a listed one', { llms: { small: { ...own, api_key: '${LISTED}${DATABASE_URL}' } } }, 422],
    [
      'a region that is a host',
      { llms: { small: { provider: 'amazon-bedrock', model: 'm', region: '@evil.example/', api_key: 'k' } } },
      422,
    ],
    ['a command', { tools: [{ name: 'x', type: 'mcp', config: { command: 'sh', args: ['-c', 'id'] } }] }, 403],
    ['a module', { tools: [{ name: 'x', type: 'module', config: { path: '/tmp/x.ts' } }] }, 403],
  ]
  for (const more of [{}, { in_memory_only: true }, { validate_only: true }]) {
    for (const [name, configuration, status] of attacks) {
      const reply = await put(configuration, more)
      assert.equal(reply.status, status, `${name}: ${reply.text}`)
      assert.doesNotMatch(reply.text, /-secret|sk-first/, name)
    }
  }
  assert.deepEqual([await file(), (await get()).text, await backups()], [...before, []])
  assert.equal(evil.requests.length, 0)
  // Two steps are needed: a text outside of secret fields puts no variable into use.
  assert.equal((await put({ instructions: '${OTHER}' })).status, 200)
  assert.equal((await put({ llms: { small: { ...own, api_key: '${OTHER}' } } })).status, 422)
  assert.equal((await put({ llms: { small: { ...own, api_key: '${LISTED}' } } })).status, 200)
  await client.chat('hello')
  assert.doesNotMatch(log.join('\n'), /env-secret|other-secret|sk-first|team-secret/)
})

test('Agent configuration: a hand-edited file counts as a change; an invalid edit is logged with its location and ignored', async (t) => {
  const { get, put, file, settings, log, backups } = await start(t, { yaml: secretive() })
  const version = async () => (await get()).body.version as string
  const edit = async (text: string) => {
    await writeFile(`${settings.agentConfig}.new`, text)
    await rename(`${settings.agentConfig}.new`, settings.agentConfig)
  }
  const first = await version()
  const text = await file()
  await edit(text.replace('First.', 'By hand.'))
  await until(async () => (await get()).body.configuration.description === 'By hand.')
  const second = await version()
  assert.notEqual(second, first)
  await edit(`${text}tools: 5\ncolour: red\n`)
  await until(() => log.some((line) => line.includes('agent.yaml:')))
  const told = log.find((line) => line.includes('agent.yaml:'))!
  assert.deepEqual({ level: JSON.parse(told).level, version: await version() }, { level: 50, version: second })
  // A change over the API does not overwrite a pending edit.
  const { status, body } = await put({ name: 'x' })
  assert.deepEqual({ status, error_type: body.details.error_type }, { status: 503, error_type: 'ConfigurationNotStored' })
  assert.match(await file(), /colour: red/)
  assert.equal((await put({ name: 'x' }, { in_memory_only: true })).status, 200)
  await writeFile(settings.agentConfig, '')
  await edit(text.replace('First.', 'Again.'))
  await until(async () => (await get()).body.configuration.description === 'Again.')
  assert.equal((await get()).body.configuration.name, 'x')
  assert.equal((await backups()).length, 2)
})

test('Agent configuration: a change is merged into a pending edit of the file', async (t) => {
  const { get, put, file, settings } = await start(t, { yaml: secretive() })
  await writeFile(settings.agentConfig, (await file()).replace('First.', 'By hand.'))
  const { status, body } = await put({ name: 'By PUT' })
  assert.deepEqual({ status, diff: body.diff }, { status: 200, diff: ['name'] })
  const { configuration } = (await get()).body
  assert.deepEqual({ description: configuration.description, name: configuration.name }, { description: 'By hand.', name: 'By PUT' })
  assert.match(await file(), /By hand\.[\s\S]*By PUT/)
})

test('Agent configuration: a write by the service is not taken for an edit', async (t) => {
  const { get, put, log } = await start(t, { yaml: secretive() })
  const { body } = await put({ name: 'one' })
  await new Promise((resolve) => setTimeout(resolve, 500))
  assert.equal((await get()).body.version, body.version)
  assert.equal(log.filter((line) => line.includes('was edited')).length, 0)
})

test('Agent configuration: with an unwritable file nothing changes, and a change in memory works', async (t) => {
  const { get, put, file, settings, backups } = await start(t, { yaml: secretive() })
  const before = [await file(), (await get()).text]
  const folder = path.dirname(settings.agentConfig)
  // A draft can't be made beside a file that is a directory's last: the folder of the backups is a file here, which fails for root too.
  await writeFile(path.join(settings.dataDir, 'config-backups'), '')
  const refused = await put({ name: 'x' })
  assert.deepEqual(
    { status: refused.status, error_type: refused.body.details.error_type },
    { status: 503, error_type: 'ConfigurationNotStored' },
  )
  assert.match(refused.body.body, /in_memory_only/)
  await rm(path.join(settings.dataDir, 'config-backups'))
  await rm(settings.agentConfig)
  assert.equal((await put({ name: 'x' })).status, 503)
  await writeFile(settings.agentConfig, before[0]!)
  assert.deepEqual([await file(), (await get()).text, await backups()], [...before, []])
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.endsWith('.tmp')),
    [],
  )
  assert.equal((await put({ name: 'x' }, { in_memory_only: true })).status, 200)
})

test('Agent configuration: the schema is public, marks secrets and describes every tool type', async (t) => {
  const { url } = await start(t)
  const response = await fetch(`${url}${place}/schema`)
  const schema: any = await response.json()
  assert.equal(response.status, 200)
  assert.equal(schema.properties.llms.properties.primary.properties.api_key.writeOnly, true)
  assert.equal(schema.properties.max_iterations.default, 25)
  const validate = new Ajv2020({ strict: false, allErrors: true }).compile(schema)
  assert.ok(validate({ name: 'x' }) && validate(parseAgentConfig('')))
  assert.ok(!validate({ llms: {} }))
  const tools = (list: unknown[]) => validate({ tools: list })
  assert.ok(
    tools([{ name: 'calculator' }, { name: 'docs', type: 'knowledge_search', config: { paths: ['a'] } }]),
    JSON.stringify(validate.errors),
  )
  assert.ok(!tools([{ name: 'docs', type: 'knowledge_search', config: { paths: 'a' } }]))
  assert.ok(!tools([{ name: 'knowledge_search', config: { colour: 'a' } }]))
  assert.ok(!validate({ colour: 'red' }))
})

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 8000
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error('It did not happen.')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

test('Agent configuration: validate_only starts no command and loads no code, even with CONFIG_CODE=allow', async (t) => {
  const { put, settings } = await start(t, { script: {}, environment: { CONFIG_CODE: 'allow' } })
  const folder = path.dirname(settings.agentConfig)
  const [mark, module] = ['mark', 'mine.mjs'].map((name) => path.join(folder, name)) as [string, string]
  await writeFile(module, `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(mark)}, '')\nexport default {}\n`)
  const tools = [
    { name: 'command', type: 'mcp', config: { command: 'touch', args: [mark] } },
    { name: 'code', type: 'module', config: { path: './mine.mjs' } },
  ]
  const tried = await put({ tools }, { validate_only: true })
  assert.deepEqual(
    { status: tried.status, success: tried.body.success, warnings: tried.body.warnings },
    { status: 200, success: true, warnings: [] },
  )
  await assert.rejects(stat(mark), { code: 'ENOENT' })
  const refused = await put({ tools: [{ name: 'a', type: 'openapi', config: { spec: '../a.yaml' } }] }, { validate_only: true })
  assert.deepEqual(faultsOf(refused), [422, 'body.configuration.tools.0.config.spec'])
})

test('Configuration: a change gives a role no permission that the caller lacks, by patch, text, memory or restore', async (t) => {
  const yaml = `llms: {primary: {provider: openai-compatible, model: one, base_url: "https://one.example/v1", api_key: sk-one}}\naccess:\n  roles:\n    clerk: [config.read, config.write, chat]\n    other: [runs.read]\n`
  const service = await startService(t, { yaml })
  const clerk = await service.as({ sub: 'clerk', roles: ['clerk'] })
  const admin = await service.as({ sub: 'root', roles: ['admin'] })
  const place = '/core/v1/agent/config'
  const rolesIn = async () => (await admin.request('GET', place)).body.configuration.access.roles
  const before = await rolesIn()
  const patch = (roles: object, more = {}) => clerk.request('PUT', place, { body: { configuration: { access: { roles } }, ...more } })
  const { version: first } = (await admin.request('GET', place)).body
  const refused = [
    await patch({ clerk: ['config.read', 'config.write', 'chat', 'keys.manage'] }),
    await patch({ new: ['observability.read'] }, { in_memory_only: true }),
    await patch({ other: ['runs.read', 'memories.read'] }, { validate_only: true }),
    await clerk.request('PUT', place, { body: yaml.replace('chat]', 'keys.manage]'), headers: { 'content-type': 'application/yaml' } }),
  ]
  for (const { status, body } of refused) {
    assert.equal(status, 403, JSON.stringify(body))
    assert.match(body.body, /cannot give permissions that it lacks: access\.roles\.\w+: [\w.]+/)
  }
  assert.deepEqual(await rolesIn(), before)
  // What the caller has may be given, and what a role has may stay or be taken.
  assert.equal((await patch({ new: ['chat'], other: [] })).status, 200)
  const restored = await clerk.request('POST', `${place}/restore`, { body: { version: first } })
  assert.equal(restored.status, 403, 'the earlier version gives runs.read')
  const byAdmin = await admin.request('POST', `${place}/restore`, { body: { version: first } })
  assert.deepEqual({ status: byAdmin.status, roles: await rolesIn() }, { status: 200, roles: before })
})
