import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError } from '../../errors.ts'
import { ConfigError } from '../problems.ts'
import { redactConfig } from '../redact.ts'
import { readYaml } from '../yaml-source.ts'
import { applyPatch, toContent, type ChangeRules } from './change.ts'
import { runsCode, variableUsesOf } from './rules.ts'
import { changedPaths, type ConfigData } from './merge.ts'

/** Permitted changes of tools by a caller with only `config.write`. */

const text = `
tools:
  - name: github
    type: mcp
    approval: required
    config:
      url: https://me:url-secret@mcp.example/mcp?key=query-secret
      headers: {authorization: "Bearer head-secret", x-team: "\${TEAM_TOKEN}"}
  - name: machine
    type: mcp
    config: {url: https://machine.example/mcp, oauth: {client_id: us, client_secret: oauth-secret, token_url: https://login.example/token}}
  - name: local
    type: mcp
    config: {command: npx, args: [server-a], env: {API_KEY: env-secret, TOKEN: "\${LOCAL_TOKEN}"}, cwd: servers}
  - name: other
    type: mcp
    config: {command: node, args: [server-b], env: {API_KEY: other-secret}}
  - name: orders
    type: openapi
    config:
      spec: https://specs.example/orders.yaml?sig=spec-secret
      base_url: https://orders.example
      headers: {x-key: order-secret}
      credentials: {basic: "user:cred-secret"}
  - name: stock
    type: openapi
    config: {spec: specs/stock.yaml, credentials: {key: stock-secret}}
  - name: mine
    type: module
    config: {path: ./tools/mine.ts}
  - name: request
    type: http_request
    config:
      allowed_hosts: [api.example, "*.corp.example"]
      headers: {api.example: {authorization: "Bearer host-secret"}, "*.corp.example": {x-key: "\${CORP_KEY}"}}
`

const secret = /(url|query|head|oauth|env|other|spec|order|cred|stock|host)-secret/
const before = toContent(readYaml(text).value as ConfigData)
const rules: ChangeRules = {
  variableUses: variableUsesOf(before.data),
  allowedReferences: [],
  mayBringCode: false,
  grantable: new Set(['chat']),
}

type Entry = { name: string; type?: string; config: Record<string, any> } & Record<string, unknown>

const shown = (): Entry[] => structuredClone(redactConfig(before.config)).tools as Entry[]

/** All entries as shown, with one entry changed. */
function changing(name: string, change: (config: Record<string, any>, entry: Entry) => void): ConfigData {
  const tools = shown()
  const entry = tools.find((one) => one.name === name)!
  change(entry.config, entry)
  return { tools }
}

/** The paths of faults, or the forbidden paths; empty for an accepted change. */
function refusal(patch: ConfigData, more: Partial<ChangeRules> = {}): string[] {
  try {
    applyPatch(before, patch, { ...rules, ...more })
    return []
  } catch (error) {
    assert.doesNotMatch(String(error), secret)
    if (error instanceof ConfigError) return error.problems.map(({ path }) => path).toSorted()
    assert.ok(error instanceof ServiceError && error.code === 'forbidden', String(error))
    return [`403 ${error.message.replace(/.*CONFIG_CODE=allow: /, '')}`]
  }
}

test('no secret of a tool is shown, and references stay unchanged', () => {
  const all = JSON.stringify(shown())
  assert.doesNotMatch(all, secret)
  const { github, machine, local, orders, request } = Object.fromEntries(shown().map((tool) => [tool.name, tool.config]))
  assert.equal(github!['url'], 'https://********@mcp.example/mcp?********')
  assert.deepEqual(github!['headers'], { authorization: '********', 'x-team': '${TEAM_TOKEN}' })
  assert.deepEqual(machine!['oauth'], { client_id: 'us', client_secret: '********', token_url: 'https://login.example/token' })
  assert.deepEqual(local!['env'], { API_KEY: '********', TOKEN: '${LOCAL_TOKEN}' })
  assert.deepEqual(
    { spec: orders!['spec'], credentials: orders!['credentials'] },
    { spec: 'https://specs.example/orders.yaml?********', credentials: { basic: '********' } },
  )
  assert.deepEqual(request!['headers'], { 'api.example': { authorization: '********' }, '*.corp.example': { 'x-key': '${CORP_KEY}' } })
})

test('the shown tools can be sent back, also in another order and with further changes', () => {
  assert.deepEqual(applyPatch(before, { tools: shown() }, rules).data, before.data)
  assert.deepEqual(applyPatch(before, { tools: shown().toReversed() }, rules).config.tools, before.config.tools.toReversed())
  for (const name of ['github', 'machine', 'local', 'orders', 'request']) {
    const patch = changing(name, (config, entry) => {
      Object.assign(entry, { timeout: 5, effect: 'read', approval: 'none', by: 'role', description: 'New.' })
      if (name === 'request') Object.assign(config, { allowed_hosts: ['api.example'], methods: ['GET'], context_hosts: ['api.example'] })
      else Object.assign(config, { include: ['a*'], exclude: ['b'], effects: { a: 'read' } })
    })
    const after = applyPatch(before, patch, rules)
    const [was, is] = [before, after].map(({ config }) => config.tools.find((tool) => tool.name === name)!.config!)
    for (const field of ['headers', 'oauth', 'env', 'credentials', 'url', 'spec'])
      assert.deepEqual(is![field], was![field], `${name} ${field}`)
  }
})

test('secrets must be sent again when their address changes', () => {
  const evil = 'https://evil.example/mcp'
  const cases: [string, (config: Record<string, any>, entry: Entry) => void, string[]][] = [
    ['github', (config) => (config['url'] = evil), ['headers.authorization', 'headers.x-team']],
    // Only the query or the path changes; the masked user is kept.
    [
      'github',
      (config) => (config['url'] = 'https://********@mcp.example/other?********'),
      ['headers.authorization', 'headers.x-team', 'url'],
    ],
    [
      'github',
      (config) => (config['url'] = 'https://********@evil.example/mcp?********'),
      ['headers.authorization', 'headers.x-team', 'url'],
    ],
    ['github', (config) => (config['headers']['host'] = 'evil.example'), ['headers.authorization', 'headers.x-team', 'url']],
    ['github', (config) => (config['headers']['x-forwarded-host'] = 'evil.example'), ['headers.authorization', 'headers.x-team', 'url']],
    ['machine', (config) => (config['url'] = evil), ['oauth.client_secret']],
    ['machine', (config) => (config['oauth']['token_url'] = evil), ['oauth.client_secret']],
    ['machine', (config) => delete config['oauth']['token_url'], ['oauth.client_secret']],
    ['orders', (config) => (config['base_url'] = evil), ['credentials.basic', 'headers.x-key', 'spec']],
    ['orders', (config) => delete config['base_url'], ['credentials.basic', 'headers.x-key', 'spec']],
    ['orders', (config) => (config['spec'] = 'https://evil.example/orders.yaml'), ['credentials.basic', 'headers.x-key']],
    ['orders', (config) => (config['spec'] = 'https://specs.example/orders.yaml?sig=mine'), ['credentials.basic', 'headers.x-key']],
    ['stock', (config) => (config['spec'] = 'specs/other.yaml'), ['credentials.key']],
    ['stock', (config) => (config['base_url'] = evil), ['credentials.key']],
  ]
  for (const [name, change, fields] of cases) {
    const index = shown().findIndex((tool) => tool.name === name)
    const refused = refusal(changing(name, change)).filter((path) => !path.endsWith('x-team') || fields.includes('headers.x-team'))
    assert.deepEqual(
      refused,
      fields.map((field) => `tools[${index}].config.${field}`),
      `${name} ${String(change)}`,
    )
  }
})

test('a secret listed under a host is sent to no other host', () => {
  const key = 'tools[7].config.headers'
  const moved = (headers: object) => refusal(changing('request', (config) => (config['headers'] = headers)))
  assert.deepEqual(moved({ 'evil.example': { authorization: '********' } }), [`${key}["evil.example"].authorization`])
  assert.deepEqual(moved({ '*.example': { authorization: '********' } }), [`${key}["*.example"].authorization`])
  assert.deepEqual(moved({ 'api.example:8080': { authorization: '********' } }), [`${key}["api.example:8080"].authorization`])
  // The same holds for values of variables.
  assert.deepEqual(moved({ 'evil.example': { 'x-key': '${CORP_KEY}' } }), [`${key}["evil.example"].x-key`])
  assert.deepEqual(moved({ 'api.example': { 'x-key': '${CORP_KEY}' } }), [`${key}["api.example"].x-key`])
  assert.deepEqual(moved({ '*.corp.example': { 'x-other': '${CORP_KEY}' } }), [])
  assert.deepEqual(moved({ 'api.example': { authorization: '********', 'x-more': 'mine' } }), [])
})

test('a secret is moved neither to another type nor to another entry', () => {
  const tools = shown()
  const [github, , local, other, orders, stock] = tools as [Entry, Entry, Entry, Entry, Entry, Entry]
  const faults = (entries: Entry[]) => refusal({ tools: entries })
  const request = { name: 'github', type: 'http_request', config: { headers: { 'evil.example': { authorization: '********' } } } }
  assert.deepEqual(faults([request]), ['tools[0].config.headers["evil.example"].authorization'])
  const api = { name: 'github', type: 'openapi', config: { spec: 'https://evil.example/a.yaml', headers: github.config['headers'] } }
  assert.deepEqual(faults([api]), ['tools[0].config.headers.authorization', 'tools[0].config.headers.x-team'])
  assert.deepEqual(faults([{ ...orders, name: 'renamed' }]), [
    'tools[0].config.credentials.basic',
    'tools[0].config.headers.x-key',
    'tools[0].config.spec',
  ])
  // Two entries swap names.
  assert.deepEqual(
    faults([
      { ...orders, name: 'stock' },
      { ...stock, name: 'orders' },
    ]).slice(0, 2),
    ['tools[0].config.credentials.basic', 'tools[0].config.headers.x-key'],
  )
  // Two entries with the same name: both are compared with the former entry.
  assert.ok(faults([github, { ...github, config: { ...github.config, url: 'https://evil.example/mcp' } }]).includes('tools[1].name'))
  assert.match(
    faults([
      { ...local, name: 'other' },
      { ...other, name: 'local' },
    ])[0]!,
    /^403 tools\[0\]\.config\.command, /,
  )
})

test('variables are used only for the original address', () => {
  const at = (name: string, change: (config: Record<string, any>) => void) => refusal(changing(name, change))
  assert.deepEqual(
    at('github', (config) => Object.assign(config, { url: 'https://evil.example', headers: { a: '${TEAM_TOKEN}' } })),
    ['tools[0].config.headers.a'],
  )
  assert.deepEqual(
    at('machine', (config) => (config['headers'] = { a: '${TEAM_TOKEN}' })),
    ['tools[1].config.headers.a'],
  )
  assert.deepEqual(
    at('machine', (config) => (config['url'] = 'https://machine.example/${TEAM_TOKEN}'))[0],
    'tools[1].config.oauth.client_secret',
  )
  assert.deepEqual(
    at('stock', (config) => (config['credentials'] = { key: '${CORP_KEY}' })),
    ['tools[5].config.credentials.key'],
  )
  assert.deepEqual(at('stock', (config) => (config['spec'] = '${HOME}'))[1], 'tools[5].config.spec')
  for (const name of ['DATABASE_URL', 'SECRET_KEY', 'AWS_SECRET_ACCESS_KEY']) {
    assert.deepEqual(
      at('machine', (config) => (config['headers'] = { a: `\${${name}}` })),
      ['tools[1].config.headers.a'],
    )
  }
})

test('no command and no code is added or changed, in any order of the list', () => {
  const tools = shown()
  const [github, , local, other, , , mine] = tools as [Entry, Entry, Entry, Entry, Entry, Entry, Entry]
  const forbidden = (...entries: object[]) => refusal({ tools: entries })
  const withConfig = (entry: Entry, config: object) => ({ ...entry, config: { ...entry.config, ...config } })
  const without = (entry: Entry, field: string) => {
    const { [field]: _, ...config } = entry.config
    return { ...entry, config }
  }
  assert.deepEqual(forbidden(withConfig(local, { command: 'sh' })), ['403 tools[0].config.command.'])
  assert.deepEqual(forbidden(withConfig(local, { args: ['server-a', '--require=x'] })), ['403 tools[0].config.args.'])
  assert.deepEqual(forbidden(withConfig(local, { args: [] })), ['403 tools[0].config.args.'])
  assert.deepEqual(forbidden(without(local, 'args')), ['403 tools[0].config.args.'])
  assert.deepEqual(forbidden(withConfig(local, { cwd: '/tmp' })), ['403 tools[0].config.cwd.'])
  assert.deepEqual(forbidden(without(local, 'cwd')), ['403 tools[0].config.cwd.'])
  assert.deepEqual(forbidden(withConfig(local, { env: { ...local.config['env'], NODE_OPTIONS: '--import x' } })), [
    '403 tools[0].config.env.',
  ])
  assert.deepEqual(forbidden(withConfig(local, { env: { ...local.config['env'], TOKEN: '${TEAM_TOKEN}' } })), ['403 tools[0].config.env.'])
  assert.deepEqual(forbidden(without(other, 'env')), ['403 tools[0].config.env.'])
  // Attempts by another name, another type, and an entry in place of another entry.
  assert.match(forbidden({ ...local, name: 'x' })[0]!, /^403 tools\[0\]\.config\.command, /)
  assert.match(forbidden({ ...github, config: { command: 'sh' } })[0]!, /^403 tools\[0\]\.config\.command\./)
  assert.match(forbidden({ name: 'mcp', config: { command: 'sh' } })[0]!, /^403/)
  assert.match(forbidden({ name: 'github', type: 'module', config: { path: './x.ts' } })[0]!, /^403 tools\[0\]\.config\.path\./)
  assert.match(forbidden({ name: 'local', type: 'module', config: { path: './tools/mine.ts' } })[0]!, /^403 .*path\./)
  assert.match(forbidden(withConfig(mine, { path: './tools/../../x.ts' }))[0]!, /^403 tools\[0\]\.config\.path\./)
  assert.match(forbidden({ ...mine, name: 'module', type: undefined })[0]!, /^403|tools\[0\]/)
  assert.match(forbidden(withConfig(local, { command: 'node' }), withConfig(other, { command: 'npx' }))[0]!, /^403 .*\[0\].*\[1\]/)
  assert.match(forbidden({ ...other, config: local.config }, { ...local, config: other.config })[0]!, /^403/)
  // Entries with code may be removed and reordered.
  assert.deepEqual(forbidden(mine, other, local), [])
  assert.deepEqual(forbidden(github), [])
  assert.deepEqual(forbidden({ name: 'local', type: 'mcp', config: { url: 'https://a.example' } }), [])
  assert.deepEqual(
    refusal({ tools: [withConfig(local, { command: 'sh', env: {} })] }, { mayBringCode: true, grantable: new Set(['chat']) }),
    [],
  )
})

test('runsCode recognizes entries with code before the tool is created', () => {
  assert.deepEqual(
    before.config.tools.filter((tool) => runsCode(tool)).map(({ name }) => name),
    ['local', 'other', 'mine'],
  )
})

test('an OpenAPI document is at an address, or in the folder of agent.yaml', () => {
  const at = (spec: unknown) => refusal({ tools: [{ name: 'new', type: 'openapi', config: { spec } }] })
  for (const spec of [
    'a.yaml',
    './a.yml',
    'specs/deep/a.json',
    'A.YAML',
    'https://a.example/x',
    'http://localhost:1/openapi',
    'a..b/c.json',
  ]) {
    assert.deepEqual(at(spec), [], spec)
  }
  for (const spec of [
    '../a.yaml',
    './../a.yaml',
    'specs/../../a.yaml',
    'specs\\..\\..\\a.yaml',
    '/etc/passwd',
    '/etc/a.json',
    '\\\\host\\a.json',
    'file:///etc/a.json',
    'FILE:a.json',
    'data:application/json,{}',
    'C:\\a.json',
    '.agent-core/admin.key',
    'agent',
    'a.yaml\0.json',
    '',
  ]) {
    assert.deepEqual(at(spec), ['tools[0].config.spec'], spec)
  }
})

test('names with the prefix of a group’s tools are refused', () => {
  const mcp = (name: string) => ({ name, type: 'mcp', config: { url: 'https://a.example' } })
  const names = (...tools: object[]) => refusal({ tools })
  assert.deepEqual(names(mcp('a'), mcp('a__b')), ['tools[1].name'])
  assert.deepEqual(names({ name: 'a__b', type: 'calculator' }, mcp('a')), ['tools[0].name'])
  assert.deepEqual(names(mcp('a'), mcp('a_b'), mcp('ab__c'), { name: 'b__c', type: 'calculator' }), [])
  assert.deepEqual(names(mcp('find_tools')), ['tools[0].name'])
})

test('approval settings are checked', () => {
  const entry = (more: object) => refusal({ tools: [{ name: 'calculator', ...more }] })
  assert.deepEqual(entry({ approval: 'required', by: 'role', effect: 'write' }), [])
  assert.deepEqual(entry({ approval: true }), ['tools[0].approval'])
  assert.deepEqual(entry({ approval: 'requird', by: 'admin', effect: 'delete' }), ['tools[0].approval', 'tools[0].by', 'tools[0].effect'])
  const approvals = (value: unknown) => refusal({ approvals: value })
  assert.deepEqual(approvals({ effects: ['write'], by: 'role', expire_after: 60 }), [])
  assert.deepEqual(approvals({ effects: ['delete'], by: 'me', expire_after: 0, more: 1 }), [
    'approvals.by',
    'approvals.effects[0]',
    'approvals.expire_after',
    'approvals.more',
  ])
})

test('a diff consists of paths without values', () => {
  const patch = changing('request', (config) => {
    config['headers']['api.example'].authorization = 'new-secret'
    config['methods'] = ['GET']
  })
  const [github, machine] = [0, 1].map((at) => (patch['tools'] as Entry[])[at]!)
  Object.assign(github!, { approval: 'none', by: 'role' })
  machine!.config['oauth'].scope = 'all'
  const { config } = applyPatch(before, { ...patch, approvals: { effects: ['write'] } }, rules)
  assert.deepEqual(changedPaths(before.config, config).toSorted(), [
    'approvals.effects',
    'tools[github].approval',
    'tools[github].by',
    'tools[machine].config.oauth.scope',
    'tools[request].config.headers["api.example"].authorization',
    'tools[request].config.methods',
  ])
})

test('the secrets of a tool of the provider do not follow a change of its address', () => {
  const config = (server: object) => ({ tools: [{ name: 'docs', type: 'provider', config: { tool: 'mcp', ...server } }] })
  const stored = toContent(config({ server_url: 'https://a.example', authorization: 'head-secret', headers: { 'x-key': 'host-secret' } }))
  const masked = { authorization: '********', headers: { 'x-key': '********' } }
  const changeTo = (server: object) => applyPatch(stored, config({ ...masked, ...server }), rules)
  assert.deepEqual(changeTo({ server_url: 'https://a.example' }).data, stored.data)
  assert.throws(() => changeTo({ server_url: 'https://evil.example' }), ConfigError)
  assert.throws(() => changeTo({ server_url: 'https://a.example', connector_id: 'connector_evil' }), ConfigError)
})
