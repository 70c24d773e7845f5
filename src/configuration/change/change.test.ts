import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError } from '../../errors.ts'
import { ConfigError } from '../problems.ts'
import { redactConfig } from '../redact.ts'
import type { AgentConfig } from '../schema.ts'
import { readYaml } from '../yaml-source.ts'
import { applyPatch, mergeEdit, toContent, type ChangeRules, type ConfigContent } from './change.ts'
import type { ConfigData } from './merge.ts'
import { variableUsesOf } from './rules.ts'
import { workSince } from '../../../test/fixtures/work-meter.ts'

const text = `
instructions: See https://me:prose-secret@docs.example/?page=2 for more.
llms:
  primary:
    provider: openai-compatible
    model: one
    base_url: https://me:url-secret@models.example/v1?key=query-secret
    api_key: key-secret
    headers: {x-team: team-secret, authorization: "Bearer \${TOKEN}"}
  small: {provider: anthropic, model: s, api_key: "\${SMALL_KEY}"}
  fallback:
    - {provider: openai, model: two, api_key: first-secret}
    - {provider: openai, model: two, api_key: second-secret}
    - {provider: amazon-bedrock, model: three, region: eu-west-1, access_key_id: id-secret, secret_access_key: aws-secret}
tools:
  - {name: calculator}
  - {name: sales, type: data_query, config: {tables: {sales: data/sales.csv}}}
`

const before = toContent(readYaml(text).value as ConfigData)
const rules: ChangeRules = {
  variableUses: variableUsesOf(before.data),
  allowedReferences: ['LISTED'],
  mayBringCode: false,
  grantable: new Set(['chat']),
}

function shown(content: ConfigContent = before): any {
  return structuredClone(redactConfig(content.config))
}

/** The paths of the faults of a patch. */
function refusalOf(patch: unknown, from: ConfigContent = before, other: Partial<ChangeRules> = {}): string[] {
  try {
    applyPatch(from, patch as ConfigData, { ...rules, variableUses: variableUsesOf(from.data), ...other })
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    assert.doesNotMatch(error.message, /(key|team|url|query|prose|first|second|id|aws)-secret/)
    return error.problems.map(({ path }) => path).toSorted()
  }
  return []
}

function apply(patch: unknown, from: ConfigContent = before): AgentConfig {
  return applyPatch(from, patch as ConfigData, { ...rules, variableUses: variableUsesOf(from.data) }).config
}

test('the shown configuration can be sent back: every secret stays unchanged', () => {
  assert.doesNotMatch(JSON.stringify(shown()), /-secret/)
  const after = applyPatch(before, shown(), rules)
  assert.deepEqual(after.data, before.data)
})

test('a part of the shown configuration can be sent back with changes beside the secrets', () => {
  const { llms, instructions } = shown()
  const config = apply({
    instructions: instructions.replace('See', 'Read').replace('for more', 'and https://b.example/?x'),
    llms: { primary: { ...llms.primary, model: 'new' }, small: { ...llms.small, model: 't' } },
  })
  assert.deepEqual(config.llms.primary, { ...before.config.llms.primary, model: 'new' })
  assert.equal(config.instructions, 'Read https://me:prose-secret@docs.example/?page=2 and https://b.example/?x.')
})

test('secrets in a list are restored from the otherwise equal element; among equal elements in order', () => {
  const { fallback } = shown().llms
  const keys = (list: unknown) => apply({ llms: { fallback: list } }).llms.fallback.map((one) => one.api_key ?? one.secret_access_key)
  assert.deepEqual(keys([fallback[2], fallback[0], fallback[1]]), ['aws-secret', 'first-secret', 'second-secret'])
  assert.deepEqual(keys([{ ...fallback[0], api_key: 'new' }, fallback[1]]), ['new', 'second-secret'])
  // One of two equal elements was removed: the former index of the other element is ambiguous.
  assert.deepEqual(refusalOf({ llms: { fallback: [fallback[0]] } }), ['llms.fallback[0].api_key'])
  assert.deepEqual(refusalOf({ llms: { fallback: [{ ...fallback[2], model: 'x' }] } }), [
    'llms.fallback[0].access_key_id',
    'llms.fallback[0].secret_access_key',
  ])
})

test('asterisks without a secret are refused in secret fields, and are plain text elsewhere', () => {
  const nowhere = [
    [{ llms: { embedding: { provider: 'openai', model: 'e', api_key: '********' } } }, 'llms.embedding.api_key'],
    [{ llms: { primary: { headers: { 'x-new': '********' } } } }, 'llms.primary.headers.x-new'],
    [{ llms: { primary: { api_key: 'sk-********' } } }, 'llms.primary.api_key'],
    [{ instructions: 'https://********@elsewhere.example/' }, 'instructions'],
    // A text of only a link has a masked query. With blanks around the link, the query would be shown.
    [{ description: 'https://x.example/?********' }, 'description'],
  ] as const
  for (const [patch, path] of nowhere) assert.deepEqual(refusalOf(patch), [path])
  assert.equal(apply({ description: 'a\n********\nb' }).description, 'a\n********\nb')
})

test('a masked query of a link cannot be revealed by adding words around the link', () => {
  const from = toContent({ ...before.data, description: 'https://x.example/?token=query-secret' })
  assert.equal(apply({ description: 'https://x.example/?********', name: 'n' }, from).description, 'https://x.example/?token=query-secret')
  assert.deepEqual(refusalOf({ description: 'See https://x.example/?********' }, from), ['description'])
})

test('no secret is sent to a new address, neither by asterisks nor by a merge without the secret', () => {
  const { primary, fallback } = shown().llms
  const all = ['llms.primary.api_key', 'llms.primary.headers.authorization', 'llms.primary.headers.x-team']
  const url = 'https://evil.example/v1'
  assert.deepEqual(refusalOf({ llms: { primary: { base_url: url } } }), all)
  assert.deepEqual(refusalOf({ llms: { primary: { ...primary, base_url: url } } }), all)
  assert.deepEqual(refusalOf({ llms: { primary: { ...primary, base_url: 'https://********@evil.example/v1?********' } } }), [
    all[0],
    'llms.primary.base_url',
    ...all.slice(1),
  ])
  // The address with the secret is placed inside of another text.
  const inside = 'https://evil.example/ https://********@models.example/v1?********'
  assert.ok(refusalOf({ llms: { primary: { ...primary, base_url: inside } } }).includes('llms.primary.base_url'))
  assert.deepEqual(refusalOf({ llms: { primary: { provider: 'openai', base_url: null } } }), all)
  assert.deepEqual(refusalOf({ llms: { primary: { base_url: null } } }), [all[0], 'llms.primary.base_url', ...all.slice(1)])
  // A header routes requests at a gateway.
  for (const header of ['host', 'Host', 'x-target-url', 'x-custom-host', 'x-openai-api-base', 'x-gateway-config']) {
    const refused = refusalOf({ llms: { primary: { headers: { [header]: 'evil.example' } } } })
    assert.ok(
      all.every((path) => refused.includes(path)),
      header,
    )
  }
  assert.deepEqual(refusalOf({ llms: { fallback: [fallback[0], fallback[1], { ...fallback[2], base_url: url }] } }), [
    'llms.fallback[2].access_key_id',
    'llms.fallback[2].secret_access_key',
  ])
  assert.deepEqual(refusalOf({ llms: { fallback: [{ ...fallback[2], region: '@evil.example/' }] } })[1], 'llms.fallback[0].region')
  assert.deepEqual(refusalOf({ llms: { small: { ...primary } } }).slice(0, 2), ['llms.small.api_key', 'llms.small.base_url'])
})

test('a secret in a list is sent to no address that only looks like the former address', () => {
  const from = toContent(
    readYaml(`
llms:
  primary: {provider: embedded, model: rules-1}
  fallback:
    - {provider: openai-compatible, model: a, base_url: "https://gate.example/v1?to=models.example", api_key: a-secret}
    - provider: openai-compatible
      model: b
      base_url: https://me:pw@gate.example/v1
      api_key: b-secret
      headers: {x-target-url: https://models.example, x-team: t}
`).value as ConfigData,
  )
  const [a, b] = shown(from).llms.fallback
  assert.deepEqual(apply({ llms: { fallback: [b, a] } }, from).llms.fallback, from.config.llms.fallback.toReversed())
  const refused = (fallback: unknown[]) => refusalOf({ llms: { fallback } }, from)
  assert.deepEqual(refused([{ ...a, base_url: 'https://gate.example/v1?to=evil.example' }]), ['llms.fallback[0].api_key'])
  // A backslash ends the host for a URL parser.
  assert.deepEqual(refused([a, { ...b, base_url: 'https://evil.example\\@gate.example/v1' }]), [
    'llms.fallback[1].api_key',
    'llms.fallback[1].headers.x-target-url',
    'llms.fallback[1].headers.x-team',
  ])
  const headers = { ...b.headers, 'x-target-url': 'https://evil.example' }
  assert.deepEqual(refused([{ ...b, headers }]), [
    'llms.fallback[0].api_key',
    'llms.fallback[0].base_url',
    'llms.fallback[0].headers.x-team',
  ])
})

test('a model edited in the file is taken over whole, regardless of changes in memory', () => {
  const file = { llms: { primary: { provider: 'openai-compatible', model: 'm', base_url: 'https://models.example/v1', api_key: 'old' } } }
  const mine = { base_url: 'https://evil.example/v1', api_key: 'mine' }
  const used = toContent({ name: 'Memory', llms: { primary: { ...file.llms.primary, ...mine } } })
  const edited = { llms: { primary: { ...file.llms.primary, api_key: 'rotated' } } }
  assert.deepEqual(mergeEdit(used, file, edited).data, { name: 'Memory', ...edited })
  assert.deepEqual(mergeEdit(used, file, { ...file, description: 'New.' }).data, { ...used.data, description: 'New.' })
})

test('a huge change is refused quickly, also a change of many small parts', () => {
  const work = workSince()
  const roles = (from: number, count: number) => ({
    access: { roles: Object.fromEntries(Array.from({ length: count }, (_, n) => [`r${from + n}`, ['chat']])) },
  })
  assert.deepEqual(refusalOf(roles(0, 100_000)), [''])
  assert.deepEqual(refusalOf({ instructions: 'x'.repeat(2_000_000) }), [''])
  const grown = applyPatch(before, { instructions: 'x'.repeat(600_000) }, rules)
  assert.deepEqual(refusalOf({ description: 'x'.repeat(600_000) }, grown), [''])
  assert.ok(work() < 2000)
})

test('lists and mappings have limits, and the refusal names them', () => {
  const roles = Object.fromEntries(Array.from({ length: 501 }, (_, n) => [`r${n}`, ['chat']]))
  const tools = (length: number) => Array.from({ length }, (_, n) => ({ name: `t${n}`, type: 'calculator' }))
  assert.deepEqual(refusalOf({ access: { roles } }), ['access.roles'])
  assert.deepEqual(refusalOf({ tools: tools(501) }), ['tools'])
  assert.deepEqual(refusalOf({ tools: tools(500) }), [])
  assert.deepEqual(refusalOf({ conversation_starters: Array(101).fill({ title: 't', message: 'm' }) }), ['conversation_starters'])
  const headers = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`x-${n}`, 'v']))
  assert.deepEqual(refusalOf({ tools: [{ name: 'm', type: 'mcp', config: { url: 'https://a.example', headers } }] }), [
    'tools[0].config.headers',
  ])
  assert.deepEqual(refusalOf({ sub_agents: { max: 1001 } }), ['sub_agents.max'])
})

test('patterns with too many expansions are refused by path before the expansion', () => {
  const work = workSince()
  const bomb = '{a,b}'.repeat(24)
  const entry = (type: string, config: object) => ({ name: type, type, config })
  const refused = refusalOf({
    tools: [
      entry('read_file', { paths: ['handbook/**', bomb] }),
      entry('list_files', { paths: ['{1..9999999}'] }),
      entry('knowledge_search', { paths: ['+(+(+(a)))b', 'x/{{a,b},{c,d}}/*.md'] }),
      entry('data_query', { tables: { good: 'data/*.csv', bad: `data/${bomb}.csv` } }),
    ],
  })
  assert.deepEqual(refused, [
    'tools[0].config.paths[1]',
    'tools[1].config.paths[0]',
    'tools[2].config.paths[0]',
    'tools[3].config.tables.bad',
  ])
  const many = Array.from({ length: 12 }, (_, n) => ({ name: `r${n}`, type: 'read_file', config: { paths: ['{1..500}'] } }))
  assert.deepEqual(refusalOf({ tools: many }), ['tools[10].config.paths[0]'])
  assert.ok(work() < 2000)
})

test('a long value is processed quickly', () => {
  const work = workSince()
  refusalOf({ llms: { primary: { provider: 'azure', model: '/'.repeat(300_000) } } })
  assert.ok(work() < 1000)
})

test('an entry may get another address when all secrets are sent again or removed', () => {
  const config = apply({
    llms: { primary: { base_url: 'https://other.example/v1', api_key: 'key-2', headers: { authorization: null, 'x-team': 'team-2' } } },
  })
  assert.deepEqual(config.llms.primary, {
    ...{ provider: 'openai-compatible', model: 'one', base_url: 'https://other.example/v1' },
    ...{ api_key: 'key-2', headers: { 'x-team': 'team-2' } },
  })
})

test('secrets of tools are matched by the name of the tool', () => {
  const tool = (config: object, more = {}) => ({ name: 'orders', type: 'later', config, ...more })
  const from = {
    ...before,
    data: { ...before.data, tools: [tool({ url: 'https://a.example', token_url: 'https://a.example', headers: { a: 'key-secret' } })] },
  }
  const moved = (entry: object) => refusalOf({ tools: [entry] }, from).filter((path) => path.includes('headers'))
  assert.deepEqual(moved(tool({ url: 'https://a.example', token_url: 'https://a.example', headers: { a: '********' } })), [])
  assert.deepEqual(moved(tool({ url: 'https://evil.example', token_url: 'https://a.example', headers: { a: '********' } })), [
    'tools[0].config.headers.a',
  ])
  assert.deepEqual(moved(tool({ url: 'https://a.example', token_url: 'https://evil.example', headers: { a: '********' } })), [
    'tools[0].config.headers.a',
  ])
  assert.deepEqual(
    moved(tool({ url: 'https://a.example', token_url: 'https://a.example', headers: { a: '********' } }, { type: 'other' })),
    ['tools[0].config.headers.a'],
  )
  assert.deepEqual(moved(tool({ url: 'https://a.example', headers: { a: '********' } }, { name: 'mine' })), ['tools[0].config.headers.a'])
})

test('environment variables: only variables in use, for the same address, and listed variables', () => {
  const server = 'https://evil.example/v1'
  const at = (value: string) => ({ llms: { embedding: { provider: 'openai-compatible', model: 'e', base_url: server, api_key: value } } })
  for (const name of [
    'HOME',
    'TOKEN',
    'SMALL_KEY',
    'DATABASE_URL',
    'SECRET_KEY',
    'CALLBACK_SECRET',
    'AWS_SECRET_ACCESS_KEY',
    'S3_REGION',
  ]) {
    assert.deepEqual(refusalOf(at(`\${${name}}`)), ['llms.embedding.api_key'], name)
    assert.deepEqual(refusalOf(at(`x\${LISTED}\${${name}}`)), ['llms.embedding.api_key'], name)
  }
  assert.deepEqual(refusalOf(at('${LISTED}')), [])
  assert.deepEqual(refusalOf(at('${DATABASE_URL}'), before, { allowedReferences: ['DATABASE_URL'] }), ['llms.embedding.api_key'])
  assert.deepEqual(
    refusalOf({ llms: { embedding: { provider: 'openai-compatible', model: 'e', base_url: 'https://evil.example/${TOKEN}' } } }),
    ['llms.embedding.base_url'],
  )
  // The same provider at the same address is used elsewhere in the configuration.
  assert.deepEqual(refusalOf({ llms: { fallback: [{ provider: 'anthropic', model: 'e', api_key: '${SMALL_KEY}' }] } }), [])
  assert.deepEqual(refusalOf({ llms: { small: { provider: 'openai-compatible', base_url: server, api_key: '${SMALL_KEY}' } } }), [
    'llms.small.api_key',
  ])
  // References in unresolved texts are harmless, and do not count as uses.
  const from = toContent({ ...before.data, instructions: '${HOME}', description: '${HOME}' })
  assert.deepEqual(refusalOf(at('${HOME}'), from), ['llms.embedding.api_key'])
})

test('commands and code: nothing is added or changed, at any index of the list', () => {
  const command = { name: 'git', type: 'later', config: { command: 'npx', args: ['a'], env: { A: 'key-secret' } } }
  const module = { name: 'mine', type: 'module', config: { path: './mine.ts' } }
  const from = { ...before, data: { ...before.data, tools: [command, module] } }
  const names = (tools: unknown, mayBringCode = false): string | undefined => {
    try {
      applyPatch(from, { tools }, { ...rules, mayBringCode })
    } catch (error) {
      if (error instanceof ServiceError) {
        assert.equal(error.code, 'forbidden')
        assert.match(error.message, /^RBAC: access denied: config\.write/)
        return error.message.replace(/.*CONFIG_CODE=allow: /, '')
      }
    }
    return undefined
  }
  const hidden = { ...command.config, env: { A: '********' } }
  const withConfig = (config: object) => [{ ...command, config }]
  assert.equal(names([{ ...command, config: hidden, description: 'd', timeout: 3 }, module]), undefined)
  assert.equal(names([module, { ...command, config: hidden }]), undefined)
  assert.equal(names([{ name: 'calculator' }]), undefined)
  assert.equal(names([{ ...command, config: { url: 'https://a.example' } }]), undefined)
  assert.equal(names(withConfig({ ...hidden, command: 'sh' })), 'tools[0].config.command.')
  assert.equal(names(withConfig({ ...hidden, args: ['-c', 'x'] })), 'tools[0].config.args.')
  assert.equal(names(withConfig({ command: 'npx', env: { A: '********' } })), 'tools[0].config.args.')
  assert.equal(names(withConfig({ ...hidden, env: { A: '********', NODE_OPTIONS: '--import=x' } })), 'tools[0].config.env.')
  assert.equal(names(withConfig({ ...hidden, env: { A: 'new' } })), 'tools[0].config.env.')
  assert.equal(names(withConfig({ ...hidden, cwd: '/elsewhere' })), 'tools[0].config.cwd.')
  assert.equal(names([{ ...module, config: { path: './other.ts' } }]), 'tools[0].config.path.')
  assert.equal(names([{ ...module, name: 'copy' }]), 'tools[0].config.path.')
  assert.equal(names([{ name: 'module', config: { path: './x.ts' } }]), 'tools[0].config.path.')
  assert.equal(
    names([{ ...command, name: 'other', config: hidden }]),
    'tools[0].config.command, tools[0].config.args, tools[0].config.env.',
  )
  assert.equal(names(withConfig({ ...hidden, command: 'sh' }), true), undefined)
})

test('after any patch, sending back the shown configuration changes nothing', () => {
  const random = createRandom(7)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const models = [
    { provider: 'openai', model: 'm', api_key: 'k-secret' },
    { provider: 'embedded', model: 'rules-1' },
    { provider: 'openai-compatible', model: 'c', base_url: 'https://u:p-secret@h.example/v1?q=q-secret', headers: { 'x-a': 'h-secret' } },
    { provider: 'azure', model: 'd', base_url: 'https://h.example', api_key: 'Bearer ${LISTED}' },
  ]
  const patches: (() => ConfigData)[] = [
    () => ({ llms: { primary: null } }),
    () => ({ llms: { primary: { ...pick(models), temperature: random() } } }),
    () => ({ llms: { fallback: Array.from({ length: Math.floor(random() * 4) }, () => pick(models)) } }),
    () => ({ llms: { small: pick([null, ...models]) } }),
    () => ({ instructions: pick(['', 'https://a:b-secret@h.example', 'x https://a:b-secret@h.example/?c=d y', '********']) }),
    () => ({
      tools: pick([
        [],
        [{ name: 'calculator', timeout: 5 }],
        [{ name: 'b', type: 'data_query', config: { tables: { a: 'b.csv?c=d-secret' } } }],
      ]),
    }),
    () => ({
      conversation_starters: [
        { title: 'a', message: 'https://h.example/?c=d-secret' },
        { title: 'b', message: 'c' },
      ],
    }),
    () => ({ memory: pick([null, { recall: 3 }]), access: { roles: { a: ['chat'] } } }),
  ]
  let content = before
  let applied = 0
  for (let round = 0; round < 500; round++) {
    try {
      content = applyPatch(content, pick(patches)(), { ...rules, variableUses: variableUsesOf(content.data) })
      applied++
    } catch (error) {
      assert.ok(error instanceof ConfigError, String(error))
    }
    const view = shown(content)
    assert.doesNotMatch(JSON.stringify(view).replaceAll('d y', ''), /[kpqhb]-secret/)
    assert.deepEqual(applyPatch(content, view, { ...rules, variableUses: variableUsesOf(content.data) }).config, content.config)
  }
  assert.ok(applied > 200, String(applied))
})

/** Mulberry32: the same numbers in every run. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
