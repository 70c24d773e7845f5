import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { createFolder, runIn } from './terminal-fixture.ts'

test('a valid file is ok, and each problem of an invalid file is a line', async (t) => {
  const folder = await createFolder(t)
  const file = path.join(folder, 'agent.yaml')
  await writeFile(file, 'id: mine\n')
  assert.deepEqual(await runIn(folder, ['config', 'check']), { code: 0, out: `ok: ${file}\n`, err: '' })
  await writeFile(path.join(folder, 'other.yaml'), 'id: 3\nmemory: { recall: a }\n')
  const { code, out, err } = await runIn(folder, ['config', 'check', 'other.yaml'])
  assert.deepEqual({ code, out }, { code: 1, out: '' })
  assert.match(err, /^other\.yaml:1 id: .+\nother\.yaml:2 memory\.recall: .+\n$/)
})

test('a variable that is unset, or reserved for the service, is reported with the line of its use', async (t) => {
  const folder = await createFolder(t)
  await writeFile(
    path.join(folder, 'agent.yaml'),
    `description: Costs \${NOTHING}.
llms:
  primary: { provider: openai, model: m, api_key: "\${MY_KEY}" }
tools:
  - { name: down, type: mcp, config: { url: "https://\${MY_HOST}/mcp", headers: { authorization: "Bearer \${SECRET_KEY}" } } }
`,
  )
  const { code, out, err } = await runIn(folder, ['config', 'check'])
  assert.deepEqual({ code, out }, { code: 1, out: '' })
  assert.deepEqual(err.trimEnd().split('\n'), [
    'agent.yaml:3 llms.primary.api_key: the environment variable MY_KEY is not set',
    'agent.yaml:5 tools[0].config.url: the environment variable MY_HOST is not set',
    'agent.yaml:5 tools[0].config.headers.authorization: ${SECRET_KEY} belongs to the service and cannot be used in the configuration',
  ])
  await writeFile(path.join(folder, 'agent.yaml'), 'llms: { primary: { provider: openai, model: m, api_key: "${MY_KEY}" } }\n')
  assert.match((await runIn(folder, ['config', 'check'], { MY_KEY: 'sk-1' })).out, /^ok: [^\n]+\n$/)
  await writeFile(path.join(folder, 'agent.yaml'), 'llms: { primary: { provider: openai, model: m } }\n')
  assert.match((await runIn(folder, ['config', 'check'])).err, /^agent\.yaml:1 llms\.primary: api_key: .+\n$/)
})

test('missing files, documents and commands are reported with line and path, and no command is run', async (t) => {
  const folder = await createFolder(t)
  await mkdir(path.join(folder, 'files', 'docs'), { recursive: true })
  await writeFile(path.join(folder, 'files', 'empty.md'), '')
  await writeFile(path.join(folder, 'agent.yaml'), wrongPlaces)
  const { code, out, err } = await runIn(folder, ['config', 'check'], { PATH: '/usr/bin:/bin' })
  assert.deepEqual({ code, out }, { code: 1, out: '' })
  const lines = err.trimEnd().replaceAll(folder, 'HERE').split('\n')
  const expected = [
    /^agent\.yaml:2 tools\[0\]\.config\.tables\.a: .*none\.csv/,
    /^agent\.yaml:2 tools\[0\]\.config\.tables\.b: .*nothing matches data\/\*\.csv/,
    /^agent\.yaml:3 tools\[1\]\.config\.path: HERE\/tools\/none\.ts does not exist$/,
    /^agent\.yaml:4 tools\[2\]\.config\.path: HERE\/files is not a file$/,
    /^agent\.yaml:5 tools\[3\]\.config\.command: there is no command "no-such-command" in PATH$/,
    /^agent\.yaml:6 tools\[4\]\.config\.command: there is no command "\.\/server\.sh" in HERE$/,
    /^agent\.yaml:7 tools\[5\]\.config\.cwd: HERE\/none is not a folder$/,
    /^agent\.yaml:8 tools\[6\]\.config\.paths: no file under .*\/files matches handbok\/\*\*$/,
    /^agent\.yaml:9 tools\[7\]\.config\.paths: none of the 1 files that match \*\.md has text to be searched$/,
    /^agent\.yaml:10 tools\[8\]\.config\.spec: HERE\/none\.yaml does not exist$/,
  ]
  assert.equal(lines.length, expected.length, err)
  expected.forEach((pattern, index) => assert.match(lines[index]!, pattern))
})

const wrongPlaces = `tools:
  - { name: data, type: data_query, config: { tables: { a: none.csv, b: "data/*.csv" } } }
  - { name: mine, type: module, config: { path: ./tools/none.ts } }
  - { name: other, type: module, config: { path: ./files } }
  - { name: server, type: mcp, config: { command: no-such-command } }
  - { name: local, type: mcp, config: { command: ./server.sh } }
  - { name: away, type: mcp, config: { command: sh, cwd: none } }
  - { name: books, type: knowledge_search, config: { paths: ["handbok/**"] } }
  - { name: blank, type: knowledge_search, config: { paths: ["*.md"] } }
  - { name: api, type: openapi, config: { spec: none.yaml } }
  - { name: found, type: mcp, config: { command: sh, args: ["-c", "touch was-run"] } }
`

test('a setting that a model does not have is a warning with line, path and model, and the file is ok', async (t) => {
  const folder = await createFolder(t)
  const file = path.join(folder, 'agent.yaml')
  await writeFile(
    file,
    `llms:
  primary: { provider: anthropic, model: claude-opus-4-8, api_key: k, reasoning_effort: minimal }
  fallback:
    - { provider: openai, model: gpt-4.1, api_key: k, reasoning_tokens: 100 }
`,
  )
  const { code, out, err } = await runIn(folder, ['config', 'check'])
  assert.deepEqual({ code, err }, { code: 0, err: '' })
  assert.deepEqual(out.trimEnd().split('\n'), [
    'warning: agent.yaml:2 llms.primary.reasoning_effort: "minimal" is no effort of claude-opus-4-8, which has none, low, medium, high, xhigh, max',
    'warning: agent.yaml:4 llms.fallback[0].reasoning_tokens: gpt-4.1 has no limit of reasoning in tokens',
    `ok: ${file}`,
  ])
})

test('the configuration is shown with its defaults and without its secrets', async (t) => {
  const folder = await createFolder(t)
  const model = '{ provider: openai, model: m, api_key: sk-secret, headers: { x-team: hush, authorization: "Bearer ${TOKEN}" } }'
  await writeFile(path.join(folder, 'agent.yaml'), `name: Mine\nllms: { primary: ${model} }\n`)
  const { code, out } = await runIn(folder, ['config', 'show'])
  const config = parse(out) as { name: string; max_iterations: number; llms: { primary: Record<string, unknown> } }
  assert.deepEqual({ code, name: config.name, max_iterations: config.max_iterations }, { code: 0, name: 'Mine', max_iterations: 25 })
  assert.deepEqual(config.llms.primary['headers'], { 'x-team': '********', authorization: 'Bearer ${TOKEN}' })
  assert.equal(config.llms.primary['api_key'], '********')
  assert.doesNotMatch(out, /sk-secret|hush/)
})

test('a missing file is reported in a line', async (t) => {
  const folder = await createFolder(t)
  for (const args of [
    ['config', 'show'],
    ['config', 'check', 'none.yaml'],
  ]) {
    const { code, out, err } = await runIn(folder, args)
    assert.deepEqual({ code, out }, { code: 1, out: '' })
    assert.match(err, /^\w+\.yaml: .+ does not exist\.\n$/)
  }
})
