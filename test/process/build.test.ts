import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { before, test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { makePdf } from '../fixtures/make-documents.ts'
import { installed, makeFolder, runCommand, serve } from '../fixtures/process.ts'

const root = path.join(import.meta.dirname, '../..')
const builder = 'scripts/build/run.ts'

// The build in the working tree may be missing, or older than the sources.
before(() => promisify(execFile)(process.execPath, [path.join(root, builder), '--if-changed']))

async function startSite(t: TestContext): Promise<string> {
  const text = 'They live in the woods near the town. '.repeat(9)
  const page = `<html><head><title>On foxes</title></head><body><article><h1>On foxes</h1><p>${text}</p></article></body></html>`
  const server = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(page))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const foxes = {
  openapi: '3.0.1',
  info: { title: 'Foxes', version: '1' },
  paths: { '/foxes': { get: { operationId: 'list-foxes', responses: { 200: { description: 'found' } } } } },
}

const moduleTool = `import { defineTool } from 'agent-core'
import { Type } from 'typebox'

export default defineTool({
  description: 'Tells of the weather.',
  schema: Type.Object({ city: Type.String() }),
  effect: 'read',
  execute: ({ city }: { city: string }) => ({ text: 'sun in ' + city }),
})
`

const tools = [
  { name: 'calculator' },
  { name: 'chart' },
  { name: 'run_python' },
  { name: 'read_file' },
  { name: 'web_page' },
  { name: 'sales', type: 'data_query', config: { tables: { sales: 'sales.csv' } } },
  { name: 'weather', type: 'module', config: { path: './weather.ts' } },
  { name: 'animals', type: 'openapi', config: { spec: './foxes.json' } },
]

test('the built service answers, and runs each tool that needs a process of its own', { timeout: 120_000 }, async (t) => {
  const folder = await makeFolder(t)
  const site = await startSite(t)
  await mkdir(path.join(folder, 'files'))
  await writeFile(path.join(folder, 'files/sales.csv'), 'region,amount\nNorth,28\nSouth,55\n')
  await writeFile(path.join(folder, 'files/report.pdf'), makePdf(['Foxes are red']))
  await writeFile(path.join(folder, 'weather.ts'), moduleTool)
  await writeFile(path.join(folder, 'foxes.json'), JSON.stringify({ ...foxes, servers: [{ url: site }] }))
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify({ llms: { primary: { provider: 'embedded', model: 'rules-1' } }, tools }))
  const { client } = await serve(t, folder, { OUTBOUND_ALLOW: '127.0.0.1' }, undefined, installed)

  const answer = await client.chat('What is 17% of 2,340?')
  assert.match(answer.body.body.output, /397\.8/)
  const { body } = await client.request('GET', '/core/v1/tools')
  const states = body.tools.map(({ name, status, description }: Record<string, string>) => [
    name,
    status === 'error' ? description : status,
  ])
  assert.deepEqual(
    states.filter(([, status]: string[]) => status !== 'ready'),
    [],
  )

  const spec = { mark: 'bar', encoding: { x: { field: 'a', type: 'nominal' }, y: { field: 'b', type: 'quantitative' } } }
  const calls: [tool: string, input: object, output: RegExp][] = [
    ['calculator', { expression: '6 * 7' }, /"42"/],
    ['sales', { sql: 'SELECT sum(amount) AS total FROM sales' }, /83/],
    ['chart', { spec, data: [{ a: 'x', b: 1 }], format: 'png' }, /"rows":1/],
    ['run_python', { code: 'sum(range(10))' }, /45/],
    ['read_file', { path: 'report.pdf' }, /Foxes are red/],
    ['web_page', { url: site }, /woods near the town/],
    ['weather', { city: 'Rome' }, /sun in Rome/],
    ['animals__list-foxes', {}, /On foxes/],
  ]
  for (const [tool_name, tool_input, output] of calls) {
    const reply = await client.request('POST', '/core/v1/tool/execute', { body: { tool_name, tool_input } })
    assert.equal(reply.body.status, 'success', `${tool_name}: ${reply.text}`)
    assert.match(JSON.stringify(reply.body.output), output, tool_name)
  }
})

test('the built program knows its version, its samples and the types of its tools', async (t) => {
  const folder = await makeFolder(t)
  const run = async (...args: string[]) => {
    const command = runCommand(t, folder, args, {}, undefined, installed)
    assert.equal(await command.ended, 0, command.stderr())
    return command.stdout()
  }
  const { version } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as { version: string }
  assert.equal(await run('--version'), `${version}\n`)
  await run('tool', 'new', 'echo')
  assert.match(await run('tool', 'check', 'tools/echo.ts', '--input', '{"query": "hello"}'), /"query": "hello"/)
  // As if the package were installed there.
  await mkdir(path.join(folder, 'node_modules'))
  await symlink(root, path.join(folder, 'node_modules/agent-core'))
  const compiler = path.join(root, 'node_modules/typescript/bin/tsc')
  await promisify(execFile)(process.execPath, [compiler, '-p', path.join(folder, 'tools')])
})

test('a start builds only when a source has changed, and a build that fails leaves the one before', { timeout: 120_000 }, async (t) => {
  const folder = await makeFolder(t)
  const files = ['package.json', 'package-lock.json', 'tsconfig.json', 'scripts', 'src/processes', 'src/tool-module.ts']
  await Promise.all(files.map((file) => cp(path.join(root, file), path.join(folder, file), { recursive: true })))
  const build = (...args: string[]) => promisify(execFile)(process.execPath, [path.join(folder, builder), ...args])
  await assert.rejects(build('--if-changed'), { code: 1, stderr: /^dist\/ cannot be built: the development packages are not installed/ })
  await mkdir(path.join(folder, 'node_modules'))
  for (const name of ['typescript', '@typescript', '@types', 'undici-types'])
    await cp(path.join(root, 'node_modules', name), path.join(folder, 'node_modules', name), { recursive: true, verbatimSymlinks: true })

  assert.match((await build('--if-changed')).stdout, /^Built dist\/ in \d+\.\d s\.\n$/)
  assert.equal((await build('--if-changed')).stdout, '')
  await writeFile(path.join(folder, 'src/tool-module.ts'), 'export const added = 1\n')
  assert.match((await build('--if-changed')).stdout, /^Built/)
  assert.match(await readFile(path.join(folder, 'dist/src/tool-module.js'), 'utf8'), /added = 1/)
  await writeFile(path.join(folder, 'src/tool-module.ts'), 'export const = (\n')
  await assert.rejects(build('--if-changed'), { code: 1, stderr: /tsc failed:[^]*tool-module\.ts/ })
  assert.match(await readFile(path.join(folder, 'dist/src/tool-module.js'), 'utf8'), /added = 1/)
})
