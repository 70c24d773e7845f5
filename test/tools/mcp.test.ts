import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { kill } from 'node:process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { rawConfig, referenceServer, until } from '../../src/tools/mcp/mcp-fixture.ts'
import { startMcpServer } from '../fixtures/mcp-http-server.ts'
import { makeFolder, serve } from '../fixtures/process.ts'
import type { Client } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

const environment = { PATH: process.env['PATH'] ?? '' }

interface ListedTool {
  name: string
  status: string
  description: string
}

async function toolsOf(client: Client): Promise<Map<string, ListedTool>> {
  const { body } = await client.request('GET', '/core/v1/tools')
  return new Map((body.tools as ListedTool[]).map((tool) => [tool.name, tool]))
}

async function execute(client: Client, tool_name: string, tool_input: object = {}) {
  return (await client.request('POST', '/core/v1/tool/execute', { body: { tool_name, tool_input } })).body
}

test('Tools: a chat uses three MCP servers, and their files are part of the answer', async (t) => {
  const folder = await makeFolder(t)
  await writeFile(path.join(folder, 'note.txt'), 'The meeting is at nine.')
  const entities = [{ name: 'Ann', entityType: 'person', observations: ['likes tea'] }]
  const service = await startService(t, {
    environment,
    config: {
      tools: [
        { name: 'every', type: 'mcp', config: referenceServer('everything') },
        { name: 'files', type: 'mcp', config: { ...referenceServer('filesystem', folder), include: ['read_*', 'list_directory'] } },
        {
          name: 'memory',
          type: 'mcp',
          config: { ...referenceServer('memory'), env: { MEMORY_FILE_PATH: path.join(folder, 'graph.jsonl') } },
        },
      ],
    },
    script: [
      callOf('every__get-sum', { a: 19, b: 23 }),
      callOf('every__get-tiny-image'),
      callOf('files__read_text_file', { path: path.join(folder, 'note.txt') }),
      callOf('memory__create_entities', { entities }),
      callOf('memory__read_graph'),
      { text: 'Done.' },
    ],
  })
  const { status, headers } = await service.client.chat('Use them all.')
  assert.equal(status, 200)
  const toolMessages = service.model.requests.at(-1)!.body.messages.filter(({ role }: { role: string }) => role === 'tool')
  const texts = toolMessages.map(({ content }: { content: string }) => content)
  assert.match(texts[0], /sum of 19 and 23 is 42/)
  assert.match(texts[1], /is kept as the file image-2\.png/)
  assert.match(texts[2], /The meeting is at nine\./)
  assert.match(texts[4], /Ann.*likes tea/s)
  const session = await service.client.session(headers.get('session-id') ?? '')
  assert.equal(session.status, 200)
  const artifacts = session.body.messages.at(-1).response_metadata.generated_artifacts
  assert.deepEqual(
    artifacts.map(({ file_name, file_type, tool }: Record<string, string>) => [file_name, file_type, tool]),
    [['image-2.png', 'image/png', 'every__get-tiny-image']],
  )
  assert.match(await readFile(path.join(folder, 'graph.jsonl'), 'utf8'), /Ann/)
  const names = [...(await toolsOf(service.client)).keys()]
  assert.ok(names.includes('files__read_text_file') && !names.includes('files__write_file'))
})

test('Tools: a killed server does not affect the tools of others, and is started again', async (t) => {
  const folder = await makeFolder(t)
  const notes = path.join(folder, 'notes')
  const { client, log } = await startService(t, {
    environment,
    config: {
      tools: [
        { name: 'frail', type: 'mcp', config: rawConfig('nothing', notes) },
        { name: 'every', type: 'mcp', config: referenceServer('everything') },
        { name: 'absent', type: 'mcp', config: { command: 'no-such-server' } },
      ],
    },
  })
  assert.deepEqual((await execute(client, 'frail__act')).output, { result: 'act done' })
  const [, pid] = [...(await readFile(notes, 'utf8')).matchAll(/pid (\d+)/g)].at(-1)!
  kill(Number(pid), 'SIGKILL')
  await until(async () => (await toolsOf(client)).get('frail__act')?.status === 'error')
  const listed = await toolsOf(client)
  assert.match(listed.get('frail__act')!.description, /The command was ended by SIGKILL\.\)$/)
  assert.equal(listed.get('every__echo')!.status, 'ready')
  assert.match(listed.get('absent')!.description, /The command no-such-server was not found\.\)$/)
  const refused = await client.request('POST', '/core/v1/tool/execute', { body: { tool_name: 'frail__act', tool_input: {} } })
  assert.deepEqual({ status: refused.status, error_type: refused.body.details.error_type }, { status: 503, error_type: 'ToolNotReady' })
  assert.deepEqual((await execute(client, 'every__echo', { message: 'on' })).output, { result: 'Echo: on' })
  await until(async () => (await toolsOf(client)).get('frail__act')?.status === 'ready')
  assert.deepEqual((await execute(client, 'frail__act')).output, { result: 'act done' })
  assert.ok(log.some((line) => line.includes('An MCP server is connected again')))
})

test('Tools: headers of the caller reach an MCP server as entries of _meta, with the call id', async (t) => {
  const server = await startMcpServer()
  t.after(() => server.close())
  const { client, log } = await startService(t, {
    config: { tools: [{ name: 'far', type: 'mcp', config: { url: server.url } }] },
    script: [callOf('far__tell'), { text: 'Told.' }],
  })
  const { status } = await client.chat('Tell.', { 'Stix-User': 'ann-7', 'x-other': 'no' })
  assert.equal(status, 200)
  const meta = server.requests.find(({ body }) => body?.method === 'tools/call')?.body.params._meta
  assert.equal(meta['stix-user'], 'ann-7')
  assert.match(meta['idempotency-key'], /^[0-9a-f-]{36}$/)
  assert.equal(Object.keys(meta).includes('x-other'), false)
  assert.doesNotMatch(log.join(''), /ann-7/)
})

test('Tools: a cancelled run cancels the call at the server', async (t) => {
  const notes = path.join(await makeFolder(t), 'notes')
  const { client } = await startService(t, {
    environment,
    config: { tools: [{ name: 'slow', type: 'mcp', config: rawConfig('hangs', notes) }] },
    script: callOf('slow__act'),
  })
  const waiting = client.chat('Go.', { 'request-id': 'r-1' })
  await until(async () => (await readFile(notes, 'utf8')).includes('called act'))
  assert.equal((await client.request('DELETE', '/core/v1/runs/r-1')).status, 200)
  assert.equal((await waiting).status, 409)
  await until(async () => (await readFile(notes, 'utf8')).includes('told notifications/cancelled'))
})

test('Agent configuration: validation connects to a server at an address, but does not start a command', async (t) => {
  const server = await startMcpServer()
  t.after(() => server.close())
  const notes = path.join(await makeFolder(t), 'notes')
  const { as } = await startService(t, { environment: { ...environment, CONFIG_CODE: 'allow' } })
  const admin = await as({ roles: ['admin'] })
  const put = (tools: object[], validate_only: boolean) =>
    admin.request('PUT', '/core/v1/agent/config', { body: { configuration: { tools }, validate_only } })
  const fine = await put([{ name: 'far', type: 'mcp', config: { url: server.url } }], true)
  assert.equal(fine.status, 200, fine.text)
  assert.ok(server.requests.length > 0)
  const unreachable = await put([{ name: 'far', type: 'mcp', config: { url: 'http://127.0.0.1:1/mcp' } }], true)
  assert.match(unreachable.text, /cannot be reached/)
  await put([{ name: 'near', type: 'mcp', config: rawConfig('nothing', notes) }], true)
  await assert.rejects(readFile(notes))
  const both = await put([{ name: 'two', type: 'mcp', config: { url: server.url, command: 'x' } }], false)
  assert.equal(both.status, 422)
  assert.match(both.text, /config[\s\S]*command/)
  assert.equal((await put([{ name: 'near', type: 'mcp', config: rawConfig('nothing', notes) }], false)).status, 200)
  await until(async () => (await toolsOf(admin)).get('near__act')?.status === 'ready')
  // An unchanged entry keeps its connection.
  assert.equal((await admin.request('PUT', '/core/v1/agent/config', { body: { configuration: { name: 'Renamed' } } })).status, 200)
  assert.deepEqual((await execute(admin, 'near__act')).output, { result: 'act done' })
  assert.equal((await readFile(notes, 'utf8')).match(/pid/g)?.length, 1)
})

test('a killed service leaves no server behind, not even a server that ignores SIGTERM', async (t) => {
  const folder = await makeFolder(t)
  const notes = path.join(folder, 'notes')
  await mkdir(folder, { recursive: true })
  const tools = [
    { name: 'stays', type: 'mcp', config: rawConfig('stays', notes) },
    {
      name: 'npx',
      type: 'mcp',
      config: { command: 'npx', args: ['mcp-server-everything'], cwd: fileURLToPath(new URL('../..', import.meta.url)) },
    },
  ]
  await writeFile(path.join(folder, 'agent.yaml'), stringify({ tools }))
  const { child, client } = await serve(t, folder, environment)
  await until(async () => (await toolsOf(client)).get('npx__echo')?.status === 'ready')
  assert.deepEqual((await execute(client, 'npx__echo', { message: 'hi' })).output, { result: 'Echo: hi' })
  const pids = [...(await readFile(notes, 'utf8')).matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid))
  assert.ok(pids.length >= 2)
  child.kill('SIGKILL')
  await until(() => !pids.some(isAlive))
})

function isAlive(pid: number): boolean {
  try {
    return kill(pid, 0)
  } catch {
    return false
  }
}
