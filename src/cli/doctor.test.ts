import assert from 'node:assert/strict'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { startModelServer } from '../../test/fixtures/model-server.ts'
import { holdDataDir } from '../store/sqlite/data-dir.ts'
import { createFolder, runIn } from './terminal-fixture.ts'

test('before the first start all checks pass, and no file is created', async (t) => {
  const folder = await createFolder(t)
  const { code, out } = await runIn(folder, ['doctor'])
  assert.equal(code, 0)
  assert.match(out, /^ok {4}data directory: .+ is created by the first start$/m)
  assert.match(out, /^ok {4}configuration: .+ is created by "agent-core serve --init"$/m)
  assert.deepEqual(await readdir(folder), [])
})

test('models are called, tools are built, and each failure has advice', async (t) => {
  const folder = await createFolder(t)
  const vectors = { body: { data: [{ index: 0, embedding: [0.1, 0.2, 0.3] }] } }
  const server = await startModelServer(({ url }) => (url === '/v1/embeddings' ? vectors : { text: 'ok' }))
  t.after(() => server.close())
  const refusing = await startModelServer([{ status: 401, body: { error: { message: 'bad key sk-wrong' } } }])
  t.after(() => refusing.close())
  await mkdir(path.join(folder, 'files'))
  await writeFile(
    path.join(folder, 'agent.yaml'),
    `llms:
  primary: { provider: openai-compatible, model: good, base_url: "${server.url}" }
  fallback:
    - { provider: openai-compatible, model: bad, base_url: "${refusing.url}", api_key: sk-wrong }
    - { provider: openai, model: unset, api_key: "\${NOT_SET}" }
    - { provider: embedded, model: rules-1 }
  embedding: { provider: openai-compatible, model: vectors, base_url: "${server.url}" }
tools:
  - { name: calculator }
  - { name: sales, type: data_query, config: { tables: { sales: none.csv } } }
`,
  )
  const { code, out, err } = await runIn(folder, ['doctor'], { OUTBOUND_ALLOW: '10.0.0.0/8,localhost' })
  assert.equal(code, 1)
  assert.match(out, /^ok {4}llms\.primary: openai-compatible good answered in \d\.\d\d s$/m)
  assert.match(out, /^fail {2}llms\.fallback\[0\]: openai-compatible bad answered 401\n {6}Check that api_key is right/m)
  assert.match(out, /^fail {2}llms\.fallback\[1\]: api_key: the environment variable NOT_SET is not set\n/m)
  assert.match(out, /^ok {4}llms\.fallback\[2\]: embedded rules-1, a demonstration model that works by rules$/m)
  assert.match(out, /^ok {4}llms\.embedding: openai-compatible vectors returned a vector of 3 numbers$/m)
  assert.match(out, /^ok {4}tool calculator is ready$/m)
  assert.match(out, /^fail {2}tool sales: .*none\.csv.*\n {6}Correct the entry sales of tools/m)
  assert.match(out, /^ok {4}outbound: public addresses, and 10\.0\.0\.0\/8, localhost$/m)
  assert.equal(err, '3 checks failed.\n')
  assert.doesNotMatch(out, /sk-wrong/)
  assert.deepEqual(server.requests.map(({ url }) => url).toSorted(), ['/v1/chat/completions', '/v1/embeddings'])
})

test('each model has a line that says what it can do, and a setting that it does not have is a warning', async (t) => {
  const folder = await createFolder(t)
  const server = await startModelServer({ text: 'ok' })
  t.after(() => server.close())
  await mkdir(path.join(folder, 'files'))
  await writeFile(
    path.join(folder, 'agent.yaml'),
    `llms:
  primary: { provider: openai-compatible, model: deepseek-v4-pro, base_url: "${server.url}", images: true }
  fallback: [{ provider: embedded, model: rules-1, cache: "on" }]
`,
  )
  const { code, out } = await runIn(folder, ['doctor'])
  assert.equal(code, 0)
  assert.match(out, /^warn {2}configuration: llms\.primary\.images: deepseek-v4-pro accepts no images\n {6}Change the setting/m)
  assert.match(out, /^warn {2}configuration: llms\.fallback\[0\]\.cache: rules-1 has no prompt cache/m)
  assert.match(
    out,
    /^ok {4}llms\.primary: .+\n {6}wire chat-completions; tools; schemas without tools; reasoning none, low, .+max; reads images; prompt cache: automatic$/m,
  )
  assert.match(
    out,
    /^ok {4}llms\.fallback\[0\]: .+\n {6}wire embedded; tools; .+no prompt cache \(assumed: the model is not in the table\)$/m,
  )
})

test('invalid settings and an invalid configuration are reported, with a line for each problem', async (t) => {
  const folder = await createFolder(t)
  const settings = await runIn(folder, ['doctor'], { PORT: 'x', LOG_LEVEL: 'loud' })
  assert.deepEqual({ code: settings.code, err: settings.err }, { code: 1, err: '2 checks failed.\n' })
  assert.match(settings.out, /^fail {2}settings: PORT must be .+, but is "x"\.\n {6}.+\nfail {2}settings: LOG_LEVEL must be /)
  await writeFile(path.join(folder, 'agent.yaml'), 'id: 3\n')
  const config = await runIn(folder, ['doctor'])
  assert.equal(config.code, 1)
  assert.match(config.out, /^fail {2}configuration: agent\.yaml:1 id: /m)
})

test('a search without documents is a failure', async (t) => {
  const folder = await createFolder(t)
  await mkdir(path.join(folder, 'files'))
  await writeFile(path.join(folder, 'agent.yaml'), 'tools: [{ name: books, type: knowledge_search, config: { paths: ["handbok/**"] } }]\n')
  const { code, out } = await runIn(folder, ['doctor'])
  assert.equal(code, 1)
  assert.match(out, /^fail {2}tool books: no documents: no file under .+ matches handbok\/\*\*\n {6}Put documents there/m)
  assert.doesNotMatch(out, /tool books is ready/)
})

test('a data directory locked by another process is a warning, a damaged store a failure', async (t) => {
  const folder = await createFolder(t)
  const dataDir = path.join(folder, '.agent-core')
  const lock = holdDataDir(dataDir)
  t.after(() => lock.release())
  const { code, out } = await runIn(folder, ['doctor'])
  assert.equal(code, 0)
  assert.match(out, /^warn {2}data directory: .+ is in use, but nothing answers for it/m)
  await writeFile(path.join(dataDir, 'agent-core.db'), 'this is no database, and long enough to be looked at as one'.repeat(20))
  const damaged = await runIn(folder, ['doctor'])
  assert.equal(damaged.code, 1)
  assert.match(damaged.out, /^fail {2}store: SQLite: .+\n {6}Restore DATA_DIR/m)
})

test('a data directory that cannot be created is a failure', async (t) => {
  const { code, out } = await runIn(await createFolder(t), ['doctor'], { DATA_DIR: '/dev/null/data' })
  assert.equal(code, 1)
  assert.match(out, /^fail {2}data directory: \/dev\/null\/data cannot be created\n {6}Set DATA_DIR/m)
})

test('an entry with several tools has a line with their number', async (t) => {
  const folder = await createFolder(t)
  await mkdir(path.join(folder, 'files'))
  const paths = Object.fromEntries(
    ['a', 'b', 'c'].map((name) => [`/${name}`, { get: { operationId: name, responses: { 200: { description: 'ok' } } } }]),
  )
  const document = { openapi: '3.1.0', info: { title: 't', version: '1' }, servers: [{ url: 'http://127.0.0.1:9' }], paths }
  await writeFile(path.join(folder, 'api.json'), JSON.stringify(document))
  await writeFile(
    path.join(folder, 'agent.yaml'),
    `tools:
  - { name: api, type: openapi, config: { spec: api.json } }
  - { name: down, type: mcp, config: { url: "http://me:hunter2@127.0.0.1:1/mcp?key=hunter2" } }
`,
  )
  const { code, out } = await runIn(folder, ['doctor'])
  assert.equal(code, 1)
  assert.match(out, /^ok {4}tools of api: 3 are ready$/m)
  assert.match(out, /^fail {2}tool down: .+\n {6}Correct the entry down of tools/m)
  assert.doesNotMatch(out, /hunter2/)
})
