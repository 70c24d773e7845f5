import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test, type TestContext } from 'node:test'
import { startService, type ServiceOptions } from '../fixtures/service.ts'

const place = '/core/v1/agent/config'

const text = `# Ours. The old key was api_key: sk-older
description: First.  # what it is
instructions: |
  # A heading, not a comment
llms:
  primary:
    provider: openai-compatible
    model: one
    base_url: https://me:pw-secret@models.example/v1?token=query-secret
    api_key: 'sk-first'  # from the vault
    # headers:
    #   x-region: hidden-value
    headers: {x-team: team-secret}
  fallback:
    - {provider: openai, model: two, api_key: sk-second}
tools:
  - name: calculator  # sums
`

const secrets = /sk-|-secret|hidden-value/

async function start(t: TestContext, options: ServiceOptions = {}) {
  const service = await startService(t, { yaml: text, ...options })
  const admin = await service.as({ sub: 'root', roles: ['admin'] })
  return {
    ...service,
    admin,
    shown: async () => (await admin.request('GET', `${place}?format=yaml`)).text,
    put: (body: string, query = '', headers = {}) =>
      admin.request('PUT', `${place}${query}`, { body, headers: { 'content-type': 'application/yaml', ...headers } }),
    file: () => readFile(service.settings.agentConfig, 'utf8'),
  }
}

test('Agent configuration: the text of agent.yaml is shown with comments and without secrets', async (t) => {
  const { admin } = await start(t)
  for (const headers of [{ accept: 'application/yaml' }, { accept: 'application/yaml, application/json;q=0.5' }]) {
    const reply = await admin.request('GET', place, { headers })
    assert.deepEqual(
      { status: reply.status, type: reply.headers.get('content-type'), vary: reply.headers.get('vary') },
      { status: 200, type: 'application/yaml; charset=utf-8', vary: 'accept' },
    )
    assert.match(reply.headers.get('etag')!, /^"[^"]+"$/)
    assert.doesNotMatch(reply.text, secrets)
    assert.equal(
      reply.text,
      text
        .replace('sk-older', '********')
        .replace('me:pw-secret', '********')
        .replace('token=query-secret', '********')
        .replace("'sk-first'", '"********"')
        .replace('hidden-value', '********')
        .replace('team-secret', '"********"')
        .replace('sk-second', '"********"'),
    )
  }
  for (const headers of [{ accept: '' }, { accept: '*/*' }, { accept: 'application/json, application/yaml' }]) {
    assert.equal((await admin.request('GET', place, { headers })).body.configuration.description, 'First.')
  }
})

test('Agent configuration: a text that is sent back replaces the file, with its secrets, comments and order', async (t) => {
  const { shown, put, file, admin } = await start(t)
  const unchanged = await put(await shown())
  assert.deepEqual([unchanged.status, unchanged.body.diff, unchanged.body.previous_config_backup], [200, [], false])
  assert.equal(await file(), text)
  const edited = (await shown())
    .replace('First.  # what it is', 'Second.  # what it does')
    .replace('  - name: calculator  # sums\n', '  # the time\n  - name: current_time\n')
  const checked = await put(edited, '?validate_only=true')
  assert.deepEqual([checked.status, checked.body.diff.toSorted()], [200, ['description', 'tools[calculator]', 'tools[current_time]']])
  assert.ok(Array.isArray(checked.body.warnings))
  assert.equal(await file(), text)
  const changed = await put(edited)
  assert.deepEqual([changed.status, changed.body.diff, changed.body.previous_config_backup], [200, checked.body.diff, true])
  assert.equal(
    await file(),
    text
      .replace('First.  # what it is', 'Second.  # what it does')
      .replace('  - name: calculator  # sums\n', '  # the time\n  - name: current_time\n')
      .replace("'sk-first'", 'sk-first'),
  )
  // What is absent is removed.
  assert.equal((await put('description: Third.\n')).status, 200)
  assert.equal(await file(), 'description: Third.\n')
  const { configuration } = (await admin.request('GET', place)).body
  assert.deepEqual({ tools: configuration.tools, provider: configuration.llms.primary.provider }, { tools: [], provider: 'embedded' })
})

test('Agent configuration: faults of a text have paths and lines, and change nothing', async (t) => {
  const { shown, put, file, admin } = await start(t)
  const masked = await shown()
  const lineOf = (part: string) => masked.slice(0, masked.indexOf(part)).split('\n').length
  const faulty: [string, unknown[], number?][] = [
    [masked.replace('description: First.', 'descriptoin: First.'), ['body', 'descriptoin'], 2],
    [masked.replace('models.example', 'thief.example'), ['body', 'llms', 'primary', 'base_url'], lineOf('base_url')],
    ['description: [a\nname: b\n', ['body'], 2],
    ['a: &a [1]\nb: [*a, *a]\nc: *d\n', ['body']],
    ['', ['body']],
    ['just text', ['body']],
    [`a: [${'a,'.repeat(40_000)}]`, ['body']],
    [`tools: [{name: x, type: openapi, config: {spec: s.yaml, api_key: "********"}}]`, ['body', 'tools', 0, 'config', 'api_key'], 1],
  ]
  for (const [body, loc, line] of faulty) {
    const reply = await put(body)
    assert.equal(reply.status, 422, `${body.slice(0, 60)}: ${reply.text.slice(0, 200)}`)
    const fault = reply.body.detail.find((entry: { loc: unknown[] }) => entry.loc.join('.') === loc.join('.'))
    assert.ok(fault, reply.text)
    assert.equal(fault.line, line, reply.text)
    assert.doesNotMatch(reply.text, secrets)
  }
  assert.equal(await file(), text)
  const command = await put(`${masked.trimEnd()}\n  - {name: m, type: mcp, config: {command: sh}}\n`)
  assert.deepEqual([command.status, command.body.details.error_type], [403, 'Forbidden'])
  assert.equal((await put(masked, '', { 'if-match': '"other"' })).status, 412)
  assert.equal((await put(masked, '?validate_only=perhaps')).status, 422)
  const elsewhere = await admin.request('POST', '/core/v1/chain', { body: 'a: 1', headers: { 'content-type': 'application/yaml' } })
  assert.equal(elsewhere.status, 415)
})

test('Agent configuration: a text can be used in memory only, and a stored text leaves changes in memory in effect', async (t) => {
  const { shown, put, file, admin } = await start(t)
  const masked = await shown()
  const memory = await put(masked.replace('First.', 'Memory.'), '?in_memory_only=true')
  assert.deepEqual([memory.status, memory.body.diff, memory.body.previous_config_backup], [200, ['description'], false])
  assert.equal(await file(), text)
  assert.equal(await shown(), masked)
  const stored = await put(masked.replace('# sums', '# adds').replace('name: calculator', 'name: current_time'))
  assert.equal(stored.status, 200, stored.text)
  const { configuration } = (await admin.request('GET', place)).body
  assert.deepEqual(
    { description: configuration.description, tools: configuration.tools.map(({ name }: { name: string }) => name) },
    { description: 'Memory.', tools: ['current_time'] },
  )
  assert.match(await file(), /^description: First\./m)
})
