import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startService, type ServiceOptions } from '../fixtures/service.ts'

const place = '/core/v1/agent/config'
const yaml = `# Ours.
description: First.
llms:
  primary: {provider: openai-compatible, model: one, base_url: "https://one.example/v1", api_key: sk-first}
tools:
  - name: calculator
`

async function start(t: TestContext, options: ServiceOptions = {}) {
  const service = await startService(t, { yaml, ...options })
  const admin = () => service.as({ sub: 'root', roles: ['admin'] })
  return {
    service,
    history: async (query = '') => (await (await admin()).request('GET', `${place}/history${query}`)).body,
    put: async (configuration: object, more = {}) => (await admin()).request('PUT', place, { body: { configuration, ...more } }),
    restore: async (body: object, headers = {}) => (await admin()).request('POST', `${place}/restore`, { body, headers }),
    get: async () => (await admin()).request('GET', place),
    file: () => readFile(service.settings.agentConfig, 'utf8'),
    edit: (text: string) => writeFile(service.settings.agentConfig, text),
  }
}

const brief = ({ kind, by, diff }: { kind: string; by: string; diff: string[] }) => [kind, by, ...diff]

test('Configuration history: every change is a version with its author, newest first, across a restart', async (t) => {
  const { service, history, put, get, edit, file } = await start(t)
  const [first] = (await history()).versions
  assert.deepEqual(brief(first), ['seed', 'file'])
  assert.equal(first.version, (await get()).body.version)
  await put({ description: 'Second.', llms: { primary: { api_key: 'sk-other' } } })
  await put({ name: 'Memory' }, { in_memory_only: true })
  await put({ name: 'Checked' }, { validate_only: true })
  await edit((await file()).replace('Second.', 'Edited.'))
  while ((await get()).body.configuration.description !== 'Edited.') await sleep(50)
  const expected = [
    ['edit', 'file', 'description'],
    ['memory', 'agent-core root', 'name'],
    ['put', 'agent-core root', 'description', 'llms.primary.api_key'],
    ['seed', 'file'],
  ]
  const page = await history()
  assert.deepEqual(page.versions.map(brief), expected)
  assert.equal(page.versions[0].version, (await get()).body.version)
  assert.equal(page.has_more, false)
  assert.doesNotMatch(JSON.stringify(page), /sk-/)
  const newest = await history('?limit=3')
  assert.deepEqual({ count: newest.versions.length, more: newest.has_more }, { count: 3, more: true })
  assert.deepEqual((await history(`?limit=3&before=${newest.offset}`)).versions.map(brief), [expected[3]])
  await service.restart()
  assert.deepEqual((await history()).versions.map(brief), [['start', 'service', 'name'], ...expected])
  const { version } = (await get()).body
  await service.restart()
  assert.equal((await get()).body.version, version)
})

test('Configuration history: a version is restored with its secrets, and is itself a version', async (t) => {
  const { history, put, restore, get, file } = await start(t)
  const [first] = (await history()).versions
  const before = await get()
  await put({
    description: 'Second.',
    tools: [],
    llms: { primary: { model: 'two', base_url: 'https://two.example/v1', api_key: 'sk-two' } },
  })
  const stale = await restore({ version: first.version }, { 'if-match': before.headers.get('etag')! })
  assert.equal(stale.status, 412)
  const checked = await restore({ version: first.version, validate_only: true })
  assert.deepEqual([checked.status, checked.body.version], [200, undefined])
  assert.match(await file(), /Second/)
  const restored = await restore({ version: first.version })
  assert.equal(restored.status, 200, restored.text)
  assert.deepEqual(restored.body.diff, checked.body.diff)
  assert.match(restored.body.message, /The previous configuration is kept as config-backups/)
  assert.equal(await file(), yaml)
  const [newest] = (await history()).versions
  assert.deepEqual([newest.kind, newest.version], ['restore', restored.body.version])
  assert.notEqual(newest.version, first.version)
  const again = await restore({ version: first.version })
  assert.deepEqual([again.status, again.body.diff, again.body.previous_config_backup], [200, [], false])
  const unknown = await restore({ version: 'none' })
  assert.deepEqual([unknown.status, unknown.body.details.error_type], [404, 'NotFound'])
  assert.equal((await restore({})).status, 422)
})

test('Configuration history: a restored version obeys the rules of a change', async (t) => {
  const withCode = `${yaml}  - {name: m, type: mcp, config: {command: "true"}}\n`
  const { history, put, restore, file } = await start(t, { yaml: withCode, environment: { CONFIG_CODE: 'deny' } })
  const [first] = (await history()).versions
  assert.equal((await put({ tools: [] })).status, 200)
  const refused = await restore({ version: first.version })
  assert.deepEqual([refused.status, refused.body.details.error_type], [403, 'Forbidden'])
  assert.match(await file(), /tools: \[\]/)
})

test('Configuration history: a version in memory only is stored by its restoration', async (t) => {
  const { history, put, restore, file } = await start(t)
  const { body } = await put({ description: 'Memory.' }, { in_memory_only: true })
  await put({ description: 'Second.' })
  const restored = await restore({ version: body.version })
  assert.equal(restored.status, 200, restored.text)
  assert.equal(await file(), yaml.replace('First.', 'Memory.'))
  assert.equal((await history('?limit=1')).versions[0].kind, 'restore')
})

test('Configuration history: a version is read with its text, without secrets', async (t) => {
  const { service, history, put } = await start(t)
  const client = await service.as({ sub: 'root', roles: ['admin'] })
  const read = (version: string) => client.request('GET', `${place}/history/${version}`)
  const [first] = (await history()).versions
  const { body } = await put({ description: 'Memory.' }, { in_memory_only: true })
  await put({ tools: [] })
  const seed = await read(first.version)
  assert.deepEqual(seed.body, {
    version: first.version,
    at: first.at,
    kind: 'seed',
    text: yaml.replace('sk-first', '"********"'),
  })
  const memory = await read(body.version)
  assert.deepEqual([memory.body.kind, memory.body.text], ['memory', seed.body.text.replace('First.', 'Memory.')])
  assert.equal((await read('none')).status, 404)
  const user = await service.as({ sub: 'ann' })
  assert.equal((await user.request('GET', `${place}/history/${first.version}`)).status, 403)
})
