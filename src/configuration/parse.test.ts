import assert from 'node:assert/strict'
import { readFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { configVersion, parseAgentConfig, toAgentConfig, formatProblems, loadAgentConfig } from './parse.ts'
import { ConfigError } from './problems.ts'
import { tmpdir } from 'node:os'
import path from 'node:path'

function problemsOf(text: string): string[] {
  try {
    parseAgentConfig(text)
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.problems.map(({ path, message, line }) => `${line ?? '-'} ${path}: ${message}`)
  }
  return []
}

const defaults = {
  id: 'agent-core',
  name: 'Agent Core',
  uri_id: 'agent-core',
  description: 'Answers questions with its tools.',
  instructions: '',
  conversation_starters: [],
  llms: { primary: { provider: 'embedded', model: 'rules-1' }, fallback: [] },
  tools: [],
  workflow_type: 'react',
  memory: { recall: 8, history_tokens: 32_000 },
  sub_agents: { may_create: true, max: 16, max_depth: 1, concurrency: 4 },
  max_execution_time: 300,
  max_iterations: 25,
  limits: {
    ...{ max_input_characters: 200_000, max_runs: 5000, max_session_wait: 30, async_concurrency: 16, reconnect_grace: 5 },
    ...{ max_artifact_bytes: 50 * 1024 ** 2, max_run_artifacts: 100, max_run_artifact_bytes: 200 * 1024 ** 2 },
  },
  access: { roles: {}, rate_limits: {} },
}

test('an empty text gives a configuration of defaults', () => {
  for (const text of ['', '# nothing yet\n', '{}', '---\n']) assert.partialDeepStrictEqual(parseAgentConfig(text), defaults)
})

test('defaults are filled in beside given values at any depth', () => {
  const config = parseAgentConfig('memory: {recall: 3}\nllms: {primary: {provider: openai, model: x}}\naccess: {roles: {a: [chat]}}')
  assert.deepEqual(config.memory, { recall: 3, history_tokens: 32_000 })
  assert.deepEqual(config.llms, { primary: { provider: 'openai', model: 'x' }, fallback: [] })
  assert.deepEqual(config.access, { roles: { a: ['chat'] }, rate_limits: {} })
  assert.partialDeepStrictEqual(config.limits, defaults.limits)
})

test('the sample configuration of a first start is valid', async () => {
  const config = parseAgentConfig(await readFile(new URL('../../samples/agent.yaml', import.meta.url), 'utf8'))
  assert.ok(config.tools.some(({ name }) => name === 'handbook'))
})

test('a provider without embedding models is refused for embeddings', () => {
  for (const provider of ['embedded', 'anthropic'])
    assert.deepEqual(problemsOf(`llms: {primary: {provider: embedded, model: rules-1}, embedding: {provider: ${provider}, model: x}}`), [
      `1 llms.embedding.provider: "${provider}" has no embedding models; choose another provider, or remove llms.embedding`,
    ])
})

test('all faults are reported in the order of the file, with path, line, rule and value', () => {
  const text = `nme: x
llms:
  primary: {provider: openia, model: 3}
  fallback: [{provider: openai-compatible, model: x}]
tools:
  - name: calculator
  - {name: calculator}
  - name: sales
    type: data_query
    config: {tables: {bad name: x}, extra: 1}
  - {name: kb, type: knowledge_search, config: {uploads: false}}
  - {name: create_sub_agent, type: calculator, config: 5}
  - {name: gh}
memory: {recall: -1}
limits:
access: {roles: {auditor: [runs.raed], admin: [chat]}}
max_execution_time: .inf
`
  const told = problemsOf(text)
  const begins = [
    '1 nme: is not a known field; known fields are id, name,',
    '3 llms.primary.provider: must be one of embedded, openai,',
    '3 llms.primary.model: must be a text, but is 3',
    '4 llms.fallback[0].base_url: is required by the provider openai-compatible but missing',
    '7 tools[1].name: "calculator" is already the name of tools[0]',
    '10 tools[2].config.extra: is not a known field; known fields are tables, max_rows',
    '10 tools[2].config.tables["bad name"]: is not a valid name; the name must match ^[A-Za-z_]',
    '11 tools[3].config.paths: is required where `uploads` is false',
    '12 tools[4].config: must be a mapping, but is 5',
    '12 tools[4].name: "create_sub_agent" is reserved for a built-in tool',
    '13 tools[5].type: is required, because the name "gh" is not a known tool type; known types are calculator,',
    '14 memory.recall: must be 0 or more, but is -1',
    '15 limits: must be a mapping, but is empty',
    '16 access.roles.auditor[0]: "runs.raed" is not a permission; known are chat,',
    '16 access.roles.admin: "admin" is built in',
    '17 max_execution_time: must be a number, but is Infinity',
  ]
  assert.equal(told.length, begins.length, told.join('\n'))
  begins.forEach((begin, index) => assert.equal(told[index]?.slice(0, begin.length), begin))
})

test('the name of a tool is the default of the type, and config is optional', () => {
  assert.deepEqual(parseAgentConfig('tools: [{name: calculator}, {name: list_files}]').tools, [
    { name: 'calculator' },
    { name: 'list_files' },
  ])
})

test('no message repeats a secret', () => {
  const told = problemsOf(`llms:
  primary: {provider: openai, model: x, api_key: [hunter2], headers: {x-key: {a: hunter2}}, api_kye: hunter2}
  small: {provider: openai, model: x, api_key: '', base_url: "ftp://me:hunter2@host/?key=hunter2"}
`)
  assert.equal(told.length, 5)
  assert.doesNotMatch(told.join('\n'), /hunter2/)
  const bare = problemsOf(`llms: {primary: {provider: embedded, model: rules-1}}
tools: [{name: http_request, config: {headers: hunter2}}, {name: other, type: http_request, config: {headers: {a.example: hunter2}}}]
`)
  assert.equal(bare.length, 2)
  assert.doesNotMatch(bare.join('\n'), /hunter2/)
})

test('invalid YAML is reported with the line and without source text', () => {
  for (const text of [
    'a: 1\napi_key: "hunter2',
    'a: 1\nb: *hunter2',
    'a: 1\nb: !hunter2 x',
    'a: 1\n  hunter2: [',
    'a: 1\n@hunter2',
    'a: |hunter2',
    '%hunter2',
  ]) {
    const told = problemsOf(text)
    assert.ok(told.length > 0, text)
    assert.doesNotMatch(told.join('\n'), /hunter2/, text)
  }
  assert.deepEqual(problemsOf('id: a\nid: b'), ['2 : is not valid YAML: this field is there twice; merge both into one'])
  assert.match(problemsOf('id: a\n---\nid: b')[0] ?? '', /is not valid YAML: Source contains multiple documents/)
  assert.match(problemsOf('- a')[0] ?? '', /^1 : must be a mapping, but is a list$/)
  assert.match(problemsOf('text')[0] ?? '', /^1 : must be a mapping, but is "text"$/)
})

test('aliases work, but unlimited expansion and cycles are refused', () => {
  const twice = parseAgentConfig('llms: {primary: &p {provider: openai, model: x}, small: *p}')
  assert.deepEqual(twice.llms.small, { provider: 'openai', model: 'x' })
  const bomb = [
    'a: &a [x, x, x, x, x, x, x, x, x]',
    ...'bcdefg'.split('').map((n) => {
      const before = String.fromCharCode(n.charCodeAt(0) - 1)
      return `${n}: &${n} [${Array(9).fill(`*${before}`).join(', ')}]`
    }),
  ]
  assert.match(problemsOf(bomb.join('\n')).join(), /aliases that expand to too much data/)
  assert.match(problemsOf('tools: &a [*a, *a, *a]')[0] ?? '', /contains itself|malformed alias|without an anchor/)
  assert.match(problemsOf(`tools: ${'['.repeat(500)}${']'.repeat(500)}`)[0] ?? '', /nested too deeply/)
  assert.match(problemsOf(`tools: ${'['.repeat(50_000)}`)[0] ?? '', /nested too deeply|not valid YAML/)
})

test('keys that reach a prototype are refused at any depth', () => {
  const told = problemsOf(`__proto__: {id: x}
access: {roles: {constructor: [chat]}}
tools: [{name: calculator, config: {prototype: 1}}]
`)
  assert.deepEqual(
    told.map((line) => line.slice(0, line.indexOf(':'))),
    ['1 __proto__', '2 access.roles.constructor', '3 tools[0].config.prototype'],
  )
  assert.equal(Object.hasOwn(Object.prototype, 'id'), false)
  assert.throws(() => toAgentConfig(JSON.parse('{"memory": {"__proto__": {"recall": 1}}}')), ConfigError)
})

test('plain data is checked like text, and is not modified', () => {
  const data = { memory: { recall: 1 } }
  assert.equal(toAgentConfig(data).memory.history_tokens, 32_000)
  assert.deepEqual(data, { memory: { recall: 1 } })
  assert.throws(
    () => toAgentConfig({ memory: { recall: '1' } }),
    (error: ConfigError) => {
      assert.deepEqual(
        error.problems.map(({ path, at, line }) => ({ path, at, line })),
        [{ path: 'memory.recall', at: ['memory', 'recall'], line: undefined }],
      )
      return true
    },
  )
})

test('the version depends only on the content', () => {
  const version = (text: string) => configVersion(parseAgentConfig(text))
  assert.match(version(''), /^[0-9a-f]{16}$/)
  assert.equal(version('id: a\nname: b'), version('# a comment\nname: b\nid: a\nmemory: {}'))
  assert.notEqual(version('id: a'), version('id: b'))
  const order = (first: string, second: string) => version(`tools: [{name: ${first}}, {name: ${second}}]`)
  assert.notEqual(order('calculator', 'list_files'), order('list_files', 'calculator'))
})

test('an MCP server has a url or a command, and only the fields for this choice', () => {
  const faults = (config: string) => problemsOf(`tools: [{name: s, type: mcp, config: ${config}}]`).map((line) => line.slice(2))
  assert.deepEqual(faults('{url: "http://localhost:1/mcp", headers: {authorization: x}}'), [])
  assert.deepEqual(faults('{command: npx, args: [-y, server], env: {KEY: x}, cwd: .}'), [])
  assert.deepEqual(faults('{pin: true}'), ['tools[0].config: must have url or command, but has neither'])
  assert.deepEqual(faults('{url: "http://a/", command: b}'), [
    'tools[0].config.command: cannot be combined with url; remove url or command',
  ])
  assert.deepEqual(faults('{url: "http://a/", args: [b], cwd: c}'), [
    'tools[0].config.args: requires command, which is missing',
    'tools[0].config.cwd: requires command, which is missing',
  ])
  assert.deepEqual(faults('{command: a, headers: {}, oauth: {client_id: b, client_secret: c}}'), [
    'tools[0].config.headers: requires url, which is missing',
    'tools[0].config.oauth: requires url, which is missing',
  ])
  assert.deepEqual(faults('{url: "http://a/", headers: {Authorization: b}, oauth: {client_id: b, client_secret: c}}'), [
    'tools[0].config.headers.Authorization: is set by oauth; remove this header or oauth',
  ])
})

test('a value that fits no alternative is one fault: of the alternative that was meant, or of all together', () => {
  const model = (prices: string) => `{ provider: openai, model: gpt-5, api_key: k, prices: ${prices} }`
  assert.deepEqual(problemsOf(`llms: { primary: ${model('{ input: -7, output: 1 }')}, fallback: [${model('off')}, ${model('none')}] }`), [
    '1 llms.primary.prices.input: must be 0 or more, but is -7',
    '1 llms.fallback[0].prices: must be a mapping or "none", but is "off"',
  ])
})

async function problemsOfFile(file: string): Promise<string[]> {
  return loadAgentConfig(file).then(
    () => [],
    (error: unknown) => {
      assert.ok(error instanceof ConfigError)
      return formatProblems(file, error)
    },
  )
}

test('a file is read, and faults are formatted with file, line and path', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'load-config-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = path.join(folder, 'agent.yaml')
  await writeFile(file, 'id: mine\n')
  assert.equal((await loadAgentConfig(file)).id, 'mine')
  await writeFile(file, 'id: mine\ntools:\n  - {name: calculator}\n  - {name: x, type: abacus}\nmemory: {recall: a}\n')
  const problems = await problemsOfFile(file)
  assert.match(problems[0] ?? '', /^agent\.yaml:4 tools\[1\]\.type: "abacus" is not a known tool type; known types are calculator, /)
  assert.deepEqual(problems.slice(1), ['agent.yaml:5 memory.recall: must be a whole number, but is "a"'])
  await writeFile(file, 'id: [')
  assert.match((await problemsOfFile(file))[0] ?? '', /^agent\.yaml:1: is not valid YAML: /)
  assert.deepEqual(await problemsOfFile(path.join(folder, 'none.yaml')), [`none.yaml: ${folder}/none.yaml does not exist.`])
  assert.deepEqual(await problemsOfFile(folder), [`${path.basename(folder)}: ${folder} cannot be read (EISDIR).`])
})
