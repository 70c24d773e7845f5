import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Client, ProtocolError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { startMcpServer } from '../fixtures/mcp-http-server.ts'
import { startService, type TestService, type Who } from '../fixtures/service.ts'
import { fromJsonSchema, type ServerContext } from '@modelcontextprotocol/server'
import { callOf, fakeTool } from '../fixtures/tools.ts'

const modes = ['legacy', 'auto'] as const

async function connect(t: TestContext, service: TestService, { mode, who }: { mode: (typeof modes)[number]; who?: Who }): Promise<Client> {
  const { key } = await service.key(who)
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  const requestInit = { headers: { 'x-service-access': key } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit }))
  t.after(() => client.close())
  return client
}

const png = Buffer.from('not really a picture')

const draw = fakeTool('draw', async (_input, { artifact }) => {
  await artifact('plan.md', 'text/markdown', Buffer.from('# Plan'))
  await artifact('plan.png', 'image/png', png)
  await artifact('photo.png', 'image/png', Buffer.alloc(600 * 1024))
  await artifact('film.bin', 'application/octet-stream', Buffer.alloc(9 * 1024 * 1024))
  return 'drawn'
})

const ask = { name: 'ask', arguments: { message: 'Draw.' } }

function isInvalid(error: unknown): boolean {
  return error instanceof ProtocolError && error.code === -32602
}

test('MCP: files of answers are resources of their owner, in both eras', async (t) => {
  const service = await startService(t, {
    script: [callOf('draw'), { text: 'Drawn.' }],
    tools: [draw],
    config: { access: { roles: { talker: ['chat'] } } },
  })
  const asking = await connect(t, service, { mode: 'auto' })
  const { content } = await asking.callTool(ask)
  // A small picture is beside the links of all files.
  assert.deepEqual(
    content.map(({ type }) => type),
    ['text', 'image', 'resource_link', 'resource_link', 'resource_link', 'resource_link'],
  )
  assert.deepEqual(content[1], { type: 'image', mimeType: 'image/png', data: png.toString('base64') })
  for (const mode of modes) {
    const client = await connect(t, service, { mode })
    const { resources } = await client.listResources()
    assert.deepEqual(
      resources.map(({ name, mimeType, size }) => ({ name, mimeType, size })),
      [
        { name: 'film.bin', mimeType: 'application/octet-stream', size: 9 * 1024 * 1024 },
        { name: 'photo.png', mimeType: 'image/png', size: 600 * 1024 },
        { name: 'plan.png', mimeType: 'image/png', size: png.length },
        { name: 'plan.md', mimeType: 'text/markdown', size: 6 },
      ],
    )
    const [film, , picture, plan] = resources
    assert.deepEqual((await client.readResource({ uri: plan!.uri })).contents, [
      { uri: plan!.uri, mimeType: 'text/markdown', text: '# Plan' },
    ])
    assert.deepEqual((await client.readResource({ uri: picture!.uri })).contents, [
      { uri: picture!.uri, mimeType: 'image/png', blob: png.toString('base64') },
    ])
    await assert.rejects(client.readResource({ uri: film!.uri }), /more than 8388608 bytes.*\/content/)
    const { resourceTemplates } = await client.listResourceTemplates()
    const [{ uriTemplate } = { uriTemplate: '' }] = resourceTemplates
    const id = plan!.uri.split('/').at(-1)!
    assert.equal(uriTemplate.replace('{artifact_id}', id), plan!.uri)
    const ref = { type: 'ref/resource', uri: uriTemplate } as const
    const { completion } = await client.complete({ ref, argument: { name: 'artifact_id', value: id.slice(0, -1) } })
    assert.ok(completion.values.includes(id))

    for (const uri of ['agent-core://artifacts/none', 'agent-core://artifacts/../x', 'file:///etc/passwd']) {
      await assert.rejects(client.readResource({ uri }), isInvalid, uri)
    }
    await assert.rejects(client.listResources({ cursor: 'nowhere' }), isInvalid)
    const bob = await connect(t, service, { mode, who: { sub: 'bob' } })
    assert.deepEqual((await bob.listResources()).resources, [])
    await assert.rejects(bob.readResource({ uri: plan!.uri }), isInvalid)
    const talker = await connect(t, service, { mode, who: { sub: 'ann', roles: ['talker'] } })
    assert.deepEqual((await talker.listResources()).resources, [])
    await assert.rejects(talker.readResource({ uri: plan!.uri }), /artifacts\.read/)
  }
})

test('MCP: conversation starters are prompts, by names that every client accepts', async (t) => {
  const starters = [
    { title: 'Sales by region', message: 'What were the sales by region?' },
    { title: 'Sales by region', message: 'And by month?' },
    { title: 'help', message: 'What can you do?' },
  ]
  const service = await startService(t, { config: { conversation_starters: starters } })
  for (const mode of modes) {
    const client = await connect(t, service, { mode })
    const { prompts } = await client.listPrompts()
    assert.deepEqual(
      prompts.map(({ name, title, description }) => ({ name, title, description })),
      [
        { name: 'Sales_by_region', title: 'Sales by region', description: 'What were the sales by region?' },
        { name: 'Sales_by_region_2', title: 'Sales by region', description: 'And by month?' },
        { name: 'help', title: 'help', description: 'What can you do?' },
      ],
    )
    const { messages } = await client.getPrompt({ name: 'Sales_by_region_2' })
    assert.deepEqual(messages, [{ role: 'user', content: { type: 'text', text: 'And by month?' } }])
    await assert.rejects(client.getPrompt({ name: 'nothing' }), isInvalid)
    const { completion } = await client.complete({ ref: { type: 'ref/prompt', name: 'help' }, argument: { name: 'x', value: '' } })
    assert.deepEqual(completion.values, [])
  }
})

test('MCP: progress of a tool of another server arrives while the tool works, in both eras', async (t) => {
  let release = () => {}
  const server = await startMcpServer((mcp) => {
    const settings = { description: 'Works.', inputSchema: fromJsonSchema({ type: 'object' }) }
    mcp.registerTool('work', settings, async (_: unknown, { mcpReq }: ServerContext) => {
      const released = new Promise<void>((resolve) => (release = resolve))
      const progressToken = mcpReq._meta!.progressToken!
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 3, message: 'one' } })
      await released
      for (let progress = 2; progress < 500; progress++)
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress } })
      return { content: [{ type: 'text', text: 'done' }] }
    })
  })
  t.after(() => server.close())
  const service = await startService(t, { config: { tools: [{ name: 'far', type: 'mcp', config: { url: server.url } }] } })
  for (const mode of modes) {
    const client = await connect(t, service, { mode })
    const told: object[] = []
    const onprogress = (progress: object) => {
      told.push(progress)
      release()
    }
    // The tool ends only after its first progress has arrived.
    const { content } = await client.callTool({ name: 'far__work', arguments: {} }, { onprogress })
    assert.deepEqual(content, [{ type: 'text', text: 'done' }])
    assert.deepEqual(told.slice(0, 2), [{ progress: 1, total: 3, message: 'one' }, { progress: 2 }])
    assert.ok(told.length >= 20 && told.length < 40, `${told.length} notifications`)
  }
})

test('MCP: lines that a tool logs are progress of its call, in both eras', async (t) => {
  const working = fakeTool('working', async (_input, { log }) => {
    log('0 of 100')
    log('50 of 100: half way')
    return 'done'
  })
  const service = await startService(t, { tools: [working] })
  for (const mode of modes) {
    const client = await connect(t, service, { mode })
    const told: object[] = []
    await client.callTool({ name: 'working', arguments: {} }, { onprogress: (progress) => void told.push(progress) })
    assert.deepEqual(told, [
      { progress: 1, message: '0 of 100' },
      { progress: 2, message: '50 of 100: half way' },
    ])
  }
})
