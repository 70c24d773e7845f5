import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { Client, StreamableHTTPClientTransport, type Progress } from '@modelcontextprotocol/client'
import { fromJsonSchema } from '@modelcontextprotocol/server'
import { createClient, type StepProgress } from '../../client/src/index.ts'
import { startMcpServer } from '../fixtures/mcp-http-server.ts'
import { startService } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

/** A service with the tool `counter__count` of an MCP server, which reports twice, and ends when `release` is called. */
async function start(t: TestContext) {
  const gates: (() => void)[] = []
  const counter = await startMcpServer((mcp) => {
    mcp.registerTool(
      'count',
      { description: 'Counts.', inputSchema: fromJsonSchema({ type: 'object' }), annotations: { readOnlyHint: true } },
      async (_input: unknown, { mcpReq }: any) => {
        const { progressToken } = mcpReq._meta
        const report = (progress: number, message: string) =>
          mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 4, message } })
        await report(0.5, `Half\u202e a step${'!'.repeat(500)}`)
        await report(2, '')
        await new Promise<void>((resolve) => gates.push(resolve))
        return { content: [{ type: 'text', text: 'Counted.' }] }
      },
    )
  })
  t.after(() => counter.close())
  const tool = { name: 'counter', type: 'mcp', config: { url: counter.url, include: ['count'] } }
  const service = await startService(t, { script: [callOf('counter__count'), { text: 'Done.' }], config: { tools: [tool] } })
  const { key } = await service.key()
  return { service, key, release: () => gates.splice(0).forEach((open) => open()) }
}

/** Reads a stream, and ends the tool when the second report has arrived. */
async function readStream(response: Response, release: () => void): Promise<string> {
  assert.equal(response.status, 200)
  const decoder = new TextDecoder()
  let read = ''
  for await (const piece of response.body!) {
    read += decoder.decode(piece, { stream: true })
    if (read.includes('"progress":2,')) release()
  }
  return read
}

const question = { messages: [{ role: 'user' as const, content: 'Count.' }] }

test('Progress: the stream of a chat has the progress of a tool of an MCP server while the tool runs, and the log has none', async (t) => {
  const { service, key, release } = await start(t)
  const reports: StepProgress[] = []
  const client = createClient({ baseUrl: service.url, accessKey: key })
  const stream = client.stream(question, {
    requestId: 'r',
    onProgress(report) {
      reports.push(report)
      if (report.progress === 2) release()
    },
  })
  const numbers: number[] = []
  for await (const { number, agent_step, progress } of stream) {
    numbers.push(number)
    assert.ok(agent_step !== 'tool:counter__count' || progress === undefined)
  }
  assert.equal(stream.output, 'Done.')
  assert.deepEqual(numbers, [1, 2, 3, 4])
  const [first, second, ...more] = reports
  assert.deepEqual(more, [])
  assert.equal(first?.agent_step, 'tool:counter__count')
  assert.match(first?.message ?? '', /^Half a step!+/)
  assert.ok(first.message!.length <= 201)
  assert.deepEqual([first?.progress, first?.total, second?.progress, second?.message], [0.5, 4, 2, undefined])
  const replay = await (await fetch(`${service.url}/core/v1/runs/r/stream`, { headers: { 'x-service-access': key } })).text()
  assert.doesNotMatch(replay, /event: progress/)
  assert.match(replay, /0\.5 of 4: Half a step/, 'the log of the step has the reports')
})

test('Progress: an event named progress repeats the number of the event before, so that last-event-id stays valid', async (t) => {
  const { service, key, release } = await start(t)
  const headers = { 'x-service-access': key, 'content-type': 'application/json', 'request-id': 'r' }
  const init = { method: 'POST', headers, body: JSON.stringify(question) }
  const events = (await readStream(await fetch(`${service.url}/core/v1/chain_streaming`, init), release)).split('\n\n').slice(0, -1)
  assert.deepEqual(
    events.map((event) => event.split('\ndata:')[0]),
    ['id: r:1', 'event: progress\nid: r:1', 'event: progress\nid: r:1', 'id: r:2', 'id: r:3', 'id: r:4'],
  )
  const { progress, ...chunk } = JSON.parse(events[2]!.split('data: ')[1]!)
  assert.deepEqual(chunk, { id: 'r', token: '', agent_step: 'tool:counter__count', finish_reason: 'null', usage: [] })
  assert.deepEqual([progress.progress, progress.total, typeof progress.tool_call_id], [2, 4, 'string'])
})

const doors = [
  {
    path: '/ag-ui',
    body: {
      threadId: 's',
      runId: 'r',
      state: {},
      messages: [{ id: 'm', role: 'user', content: 'Count.' }],
      tools: [],
      context: [],
      forwardedProps: {},
    },
    progress: /"type":"CUSTOM","name":"progress","value":\{"toolCallId":"[^"]+","toolCallName":"counter__count","progress":2,"total":4\}/,
  },
  {
    path: '/ui/chat',
    body: { id: 's', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Count.' }] }] },
    progress: /"type":"data-progress".+"toolName":"counter__count","progress":2,"total":4\},"transient":true/,
  },
  {
    path: '/langgraph/runs/stream',
    body: { assistant_id: 'agent', input: { messages: [{ role: 'user', content: 'Count.' }] }, stream_mode: ['custom'] },
    progress: /event: custom\ndata: \{"type":"progress","tool_call_id":"[^"]+","name":"counter__count","progress":2,"total":4\}\n\n/,
  },
]

for (const { path, body, progress } of doors) {
  test(`Progress: ${path} has the progress of a tool where its protocol has a place for it`, async (t) => {
    const { service, key, release } = await start(t)
    const headers = { 'x-service-access': key, 'content-type': 'application/json' }
    const response = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    if (response.status !== 200) assert.fail(await text(response.body!))
    assert.match(await readStream(response, release), progress)
  })
}

for (const mode of ['legacy', 'auto'] as const) {
  test(`Progress: an MCP client gets the numbers of the tool, and in a run a sentence for each report (${mode})`, async (t) => {
    const { service, key, release } = await start(t)
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
    const requestInit = { headers: { 'x-service-access': key } }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit }))
    t.after(() => client.close())
    const reports: Progress[] = []
    const onprogress = (report: Progress) => {
      reports.push(report)
      if (report.progress === 2 || report.message?.endsWith(': 2 of 4')) release()
    }
    await client.callTool({ name: 'counter__count' }, { onprogress })
    assert.deepEqual(
      reports.map(({ progress, total }) => [progress, total]),
      [
        [0.5, 4],
        [2, 4],
      ],
    )
    assert.match(reports[0]?.message ?? '', /^Half a step/)
    reports.length = 0
    await client.callTool({ name: 'ask', arguments: { message: 'Count.' } }, { onprogress })
    assert.deepEqual(
      reports.map(({ progress, message }) => [progress, message?.slice(0, 26)]),
      [
        [1, 'counter__count has started.'.slice(0, 26)],
        [2, 'counter__count: 0.5 of 4: Half'.slice(0, 26)],
        [3, 'counter__count: 2 of 4'],
        [4, 'counter__count has ended: success.'.slice(0, 26)],
      ],
    )
  })
}
