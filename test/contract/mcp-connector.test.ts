import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { documentsOf } from '../fixtures/documents.ts'
import { startService, type TestService, type Who } from '../fixtures/service.ts'

const modes = ['legacy', 'auto'] as const

const files = {
  'handbook/leave.md':
    '---\ntitle: Leave of absence\nurl: https://intranet.example/leave\n---\n# Leave\n\nEverybody has 25 days of leave.\n\n# Illness\n\nTell us of days of illness.',
  'handbook/old rules.txt': 'Days of leave end in March.',
  'secret/plan.md': 'Days of leave are cut.',
}
const handbook = { name: 'handbook', type: 'knowledge_search', config: { paths: ['handbook/**'] } }
const config = { tools: [handbook, { name: 'notes', type: 'knowledge_search' }] }

async function connect(t: TestContext, service: TestService, mode: (typeof modes)[number], who?: Who): Promise<Client> {
  const { key } = await service.key(who)
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  const requestInit = { headers: { 'x-service-access': key } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit }))
  t.after(() => client.close())
  return client
}

const namesOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name)

/** The structured content of a call, which stands as JSON in the only text too. */
async function callJson(client: Client, name: string, input: Record<string, unknown>) {
  const { content, structuredContent, isError } = await client.callTool({ name, arguments: input })
  assert.equal(isError, undefined, JSON.stringify(content))
  assert.deepEqual(content, [{ type: 'text', text: JSON.stringify(structuredContent) }])
  return structuredContent as Record<string, unknown>
}

async function failureOf(client: Client, name: string, input: Record<string, unknown>): Promise<string> {
  const { content, isError } = await client.callTool({ name, arguments: input })
  assert.equal(isError, true)
  return JSON.stringify(content)
}

for (const mode of modes) {
  test(`MCP: search and fetch find documents and read them whole, as connectors of ChatGPT do (${mode})`, async (t) => {
    const service = await startService(t, { script: {}, config, files })
    const upload = await (await documentsOf(service)).add('parking.md', '# Parking\n\nBehind the house.\n\n# Bikes\n\nIn the cellar.')
    const client = await connect(t, service, mode)
    assert.deepEqual(await namesOf(client), ['ask', 'handbook', 'notes', 'search', 'fetch'])

    const { results } = (await callJson(client, 'search', { query: 'days of leave' })) as { results: { id: string }[] }
    const byId = new Map(results.map((result) => [result.id, result]))
    assert.equal(byId.size, results.length)
    const leave = { id: 'handbook/leave.md', title: 'Leave of absence', url: 'https://intranet.example/leave' }
    const rules = { id: 'handbook/old rules.txt', title: 'handbook/old rules.txt', url: 'agent-core://files/handbook/old%20rules.txt' }
    assert.deepEqual([byId.get(leave.id), byId.get(rules.id)], [leave, rules])
    const parking = { id: upload.id, title: 'parking.md', url: `agent-core://knowledge/${upload.id}` }
    assert.deepEqual(((await callJson(client, 'search', { query: 'bikes' })) as { results: object[] }).results[0], parking)

    assert.deepEqual(await callJson(client, 'fetch', { id: leave.id }), {
      ...leave,
      text: 'Leave\n\nEverybody has 25 days of leave.\n\nIllness\n\nTell us of days of illness.',
      metadata: { title: 'Leave of absence', url: leave.url },
    })
    const text = 'Parking\n\nBehind the house.\n\nBikes\n\nIn the cellar.'
    assert.deepEqual(await callJson(client, 'fetch', { id: upload.id }), { ...parking, text, metadata: {} })
    assert.deepEqual((await client.readResource({ uri: parking.url })).contents, [{ uri: parking.url, mimeType: 'text/plain', text }])
  })

  test(`MCP: fetch reads only what search finds, for keys that may call tools (${mode})`, async (t) => {
    const service = await startService(t, {
      script: {},
      config: { tools: [handbook], access: { roles: { talker: ['chat'] } } },
      files,
    })
    const documents = await documentsOf(service)
    const upload = await documents.add('mine.md', 'The zebra is purple.')
    const client = await connect(t, service, mode)
    for (const id of ['secret/plan.md', 'handbook/../secret/plan.md', '/etc/passwd', 'x'.repeat(4000)])
      assert.match(await failureOf(client, 'fetch', { id }), /There is no document/)
    assert.match(await failureOf(client, 'fetch', { id: 'x'.repeat(5001) }), /at most 5000 characters/)
    assert.match(await failureOf(client, 'fetch', { id: '' }), /not empty/)
    assert.match(await failureOf(client, 'search', { query: 'x', site: 'y' }), /site/)
    assert.match(await failureOf(client, 'search', { query: 'x'.repeat(2001) }), /query/)

    const other = await connect(t, service, mode, { tenant: 'other', roles: ['user'] })
    assert.deepEqual(await callJson(other, 'search', { query: 'zebra' }), { results: [] })
    assert.match(await failureOf(other, 'fetch', { id: upload.id }), /There is no document/)
    const talker = await connect(t, service, mode, { roles: ['talker'] })
    assert.deepEqual(await namesOf(talker), ['ask'])
    await assert.rejects(talker.callTool({ name: 'fetch', arguments: { id: upload.id } }), /tools\.execute/)

    assert.equal((await callJson(client, 'fetch', { id: upload.id }))['title'], 'mine.md')
    assert.equal((await documents.remove(upload.id)).status, 200)
    assert.match(await failureOf(client, 'fetch', { id: upload.id }), /There is no document/)
  })
}

test('MCP: an agent without a search of documents, or whose search waits for approvals, or with an own tool search, offers none', async (t) => {
  const ownSearch = { name: 'search', type: 'calculator' }
  const withApproval = { ...handbook, approval: 'required' }
  const withoutUploads = { ...handbook, config: { ...handbook.config, uploads: false } }
  for (const tools of [[{ name: 'calculator' }], [handbook, ownSearch], [withApproval]]) {
    const service = await startService(t, { script: {}, config: { tools }, files })
    const client = await connect(t, service, 'auto')
    assert.deepEqual(await namesOf(client), ['ask', ...tools.map(({ name }) => name)])
    await assert.rejects(client.callTool({ name: 'fetch', arguments: { id: 'handbook/leave.md' } }), /There is no tool fetch/)
  }
  const service = await startService(t, { script: {}, config: { tools: [withoutUploads] }, files })
  const upload = await (await documentsOf(service)).add('mine.md', 'The zebra is purple.')
  assert.match(await failureOf(await connect(t, service, 'auto'), 'fetch', { id: upload.id }), /There is no document/)
})

test('MCP: search and fetch are counted as tools, and failed calls as errors', async (t) => {
  const service = await startService(t, { script: {}, config, files })
  const client = await connect(t, service, 'auto')
  await callJson(client, 'search', { query: 'leave' })
  await callJson(client, 'fetch', { id: 'handbook/leave.md' })
  await failureOf(client, 'fetch', { id: 'gone' })
  const { key } = await service.key({ roles: ['admin'] })
  const text = await (await fetch(`${service.url}/metrics`, { headers: { 'x-service-access': key } })).text()
  const counts = text
    .split('\n')
    .flatMap((line) => /^agent_core_tool_call_duration_seconds_count\{(.+)\} (\d+)$/.exec(line)?.slice(1).join(' ') ?? [])
  const ofConnector = counts.filter((line) => /tool="(search|fetch)"/.test(line))
  assert.deepEqual(ofConnector.toSorted(), [
    'tool="fetch",status="error" 1',
    'tool="fetch",status="success" 1',
    'tool="search",status="success" 1',
  ])
})

test('MCP: search and fetch find a file that is a heading alone', async (t) => {
  const service = await startService(t, { script: {}, config, files: { 'handbook/returns.md': '# Returns within 14 days\n' } })
  const client = await connect(t, service, 'auto')
  const found = { id: 'handbook/returns.md', title: 'handbook/returns.md', url: 'agent-core://files/handbook/returns.md' }
  assert.deepEqual(await callJson(client, 'search', { query: 'returns' }), { results: [found] })
  assert.deepEqual(await callJson(client, 'fetch', { id: found.id }), { ...found, text: 'Returns within 14 days', metadata: {} })
  const executed = await service.client.request('POST', '/core/v1/tool/execute', {
    body: { tool_name: 'handbook', tool_input: { query: 'returns' } },
  })
  const [passage] = executed.body.output.passages
  assert.deepEqual([passage.heading, passage.text], ['Returns within 14 days', ''])
})
