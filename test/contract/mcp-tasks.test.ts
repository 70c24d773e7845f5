import assert from 'node:assert/strict'
import { suite, test, type TestContext } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createTaskSessionFromClient, type RawClientDispatch, type TaskEnabledSession } from '@modelcontextprotocol/ext-tasks/client'
import { startService, type TestService, type Who } from '../fixtures/service.ts'
import { callOf, fakeTool, gatedTool } from '../fixtures/tools.ts'

const eras = ['legacy', 'auto'] as const
type Mode = (typeof eras)[number]

const capabilities = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } }
const clientInfo = { name: 'test', version: '1' }
const framing = { protocolVersion: '2026-07-28', clientInfo, clientCapabilities: capabilities }

interface Connecting {
  mode: Mode
  who?: Who
  decision?: string
}

/** The requester of the tasks packages of MCP, over the official client. */
async function connect(
  t: TestContext,
  service: TestService,
  { mode, who, decision = 'approve' }: Connecting,
): Promise<{ client: Client; session: TaskEnabledSession }> {
  const { key } = await service.key(who)
  const client = new Client(clientInfo, { capabilities, versionNegotiation: { mode } })
  const requestInit = { headers: { 'x-service-access': key } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit }))
  t.after(() => client.close())
  const modern = { rawDispatch: dispatchTo(service, key), v2RequestFraming: framing }
  const { tools } = await client.listTools()
  const ask = tools.find(({ name }) => name === 'ask')!
  const declaration = { name: 'ask', inputSchema: { type: 'object' }, taskSupport: ask.execution?.taskSupport }
  const options = {
    endpointId: 'agent',
    tools: { currentTool: () => declaration as never },
    onInputRequest: async () => ({ action: 'accept', content: { decision } }) as never,
  }
  const session = createTaskSessionFromClient(client, mode === 'auto' ? { ...options, ...modern } : options)
  t.after(() => session.close())
  return { client, session }
}

function dispatchTo(service: TestService, key: string): RawClientDispatch {
  return async (request) => {
    const { method, params } = request as { method: string; params: { name?: string; taskId?: string } }
    const response = await fetch(`${service.url}/mcp`, {
      method: 'POST',
      headers: {
        'x-service-access': key,
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        'mcp-name': params.name ?? params.taskId ?? '',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...(request as object) }),
    })
    const text = await response.text()
    const { result, error } = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text)
    return error ? { kind: 'error', error } : { kind: 'result', result }
  }
}

const question = { message: 'Hi' }

const anything = { '~standard': { version: 1 as const, vendor: 'test', validate: (value: unknown) => ({ value }) } }

// The requester waits a second between its requests for the state of a task.
suite('MCP: tasks', { concurrency: true }, () => {
  for (const mode of eras) {
    test(`MCP: ask as a task is a run that goes on without its client, and over a restart (${mode})`, async (t) => {
      const { tool, open, entered } = gatedTool('slow', { effect: 'read' })
      const service = await startService(t, { script: [callOf('slow'), { text: 'Done.' }], tools: [tool] })
      const first = await connect(t, service, { mode })
      const execution = await first.session.callTool('ask', question, { task: { preference: 'require' } })
      assert.equal(execution.kind, 'task')
      assert.ok(execution.kind === 'task')
      const { taskId } = execution.handle
      await entered
      assert.equal((await first.session.task(taskId).snapshot()).status, 'working')
      const reference = execution.serializeReference()
      await execution.detach()
      await first.client.close()
      await service.restart()
      open()

      const second = await connect(t, service, { mode })
      const resumed = await second.session.resumeTask<any>(reference)
      const { outcome } = await resumed.settle()
      assert.ok(outcome.status === 'completed')
      assert.equal(outcome.result.structuredContent.output, 'Done.')
      assert.equal(outcome.result.structuredContent.request_id, taskId)
      const view = await second.session.task(taskId).snapshot()
      assert.deepEqual(
        { status: view.status, retention: view.raw['ttl'] ?? view.raw['ttlMs'] },
        { status: 'completed', retention: 90 * 86_400_000 },
      )
      assert.equal((await service.client.run(taskId)).body.status, 'success')
    })

    test(`MCP: the user of a client decides the calls of a task (${mode})`, async (t) => {
      const sent: unknown[] = []
      const send = fakeTool('send', async (input) => sent.push(input), { effect: 'write', approval: { by: 'caller' } })
      const script = [callOf('send', { to: 'Bob' }), { text: 'Sent.' }, callOf('send', { to: 'Eve' }), { text: 'Not sent.' }]
      const service = await startService(t, { script, tools: [send] })
      const approving = await connect(t, service, { mode })
      const outputOf = async ({ client, session }: Awaited<ReturnType<typeof connect>>) => {
        const execution = await session.callTool<any>('ask', question, { task: { preference: 'require' } })
        // Legacy: forms come on the stream of the request for the result.
        const result = mode === 'auto' ? undefined : client.request({ method: 'tasks/result', params: { ...execution.handle } }, anything)
        const [{ outcome }] = await Promise.all([execution.settle(), result])
        return outcome.status === 'completed' ? outcome.result.structuredContent.output : outcome.status
      }
      assert.equal(await outputOf(approving), 'Sent.')
      assert.deepEqual(sent, [{ to: 'Bob' }])
      assert.equal(await outputOf(await connect(t, service, { mode, decision: 'reject' })), 'Not sent.')
      assert.equal(sent.length, 1)
    })

    test(`MCP: a task is cancelled, by its owner alone (${mode})`, async (t) => {
      const { tool, entered } = gatedTool('slow')
      const service = await startService(t, { script: [callOf('slow'), { text: 'Done.' }], tools: [tool] })
      const ann = await connect(t, service, { mode })
      const execution = await ann.session.callTool('ask', question, { task: { preference: 'require' } })
      assert.ok(execution.kind === 'task')
      const { taskId } = execution.handle
      await entered
      const bob = await connect(t, service, { mode, who: { sub: 'bob' } })
      await assert.rejects(bob.session.task(taskId).snapshot(), /There is no task/)
      await assert.rejects(bob.session.task(taskId).cancel(), /There is no task/)
      await ann.session.task(taskId).cancel()
      while ((await ann.session.task(taskId).snapshot()).status !== 'cancelled');
      assert.equal((await service.client.run(taskId)).body.status, 'cancelled')
    })

    test(`MCP: a failed task has the error of the run as its result (${mode})`, async (t) => {
      const service = await startService(t, { script: { status: 400 } as never })
      const { session } = await connect(t, service, { mode })
      const execution = await session.callTool<any>('ask', question, { task: { preference: 'require' } })
      const { outcome, lastTask } = await execution.settle()
      // A tool error is a result in revision 2026-07-28, and the state of the task before.
      assert.equal(lastTask?.status, mode === 'auto' ? 'completed' : 'failed')
      assert.match(lastTask?.statusMessage ?? '', /model/i)
      if (outcome.status === 'completed') assert.equal(outcome.result.isError, true)
    })
  }

  test('MCP: legacy clients list their tasks, newest first and in pages, and no other runs', async (t) => {
    const service = await startService(t, { script: { text: 'Hello.' } })
    const { session } = await connect(t, service, { mode: 'legacy', who: { sub: 'ann', roles: ['admin'] } })
    const ids: string[] = []
    for (let count = 0; count < 3; count++) {
      const execution = await session.callTool('ask', question, { task: { preference: 'require' } })
      assert.ok(execution.kind === 'task')
      ids.unshift(execution.handle.taskId)
      await execution.detach()
    }
    await service.client.chat({ messages: [{ role: 'user', content: 'no task' }] })
    const other = await connect(t, service, { mode: 'legacy', who: { sub: 'bob' } })
    await (await other.session.callTool('ask', question, { task: { preference: 'require' } })).detach()
    const { tasks, nextCursor } = await session.listTasks()
    assert.deepEqual({ ids: tasks.map(({ taskId }) => taskId), nextCursor }, { ids, nextCursor: undefined })
    await assert.rejects(session.listTasks('nowhere'), /before/)
  })

  test('MCP: a key without runs.read has no tasks: its calls are answered with results', async (t) => {
    const service = await startService(t, { script: { text: 'Hello.' }, config: { access: { roles: { talker: ['chat'] } } } })
    for (const mode of eras) {
      const { client } = await connect(t, service, { mode, who: { roles: ['talker'] } })
      assert.equal(client.getServerCapabilities()?.tasks, undefined)
      assert.equal(client.getServerCapabilities()?.extensions, undefined)
      const { structuredContent } = await client.callTool({ name: 'ask', arguments: question })
      assert.equal((structuredContent as { output: string }).output, 'Hello.')
    }
    const talker = await service.as({ roles: ['talker'] })
    const body = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { taskId: 'x' } }
    assert.equal((await talker.request('POST', '/mcp', { body })).status, 403)
  })

  test('MCP: a client without the extension gets no task, and the methods of tasks name the extension', async (t) => {
    const service = await startService(t, { script: { text: 'Hello.' } })
    const { key } = await service.key()
    const request = (method: string, params: object) => {
      const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} }
      return dispatchTo(service, key)({ method, params: { ...params, _meta: meta } }) as Promise<any>
    }
    assert.equal((await request('tools/call', { name: 'ask', arguments: question })).result.resultType, 'complete')
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const { error } = await request(method, { taskId: 'x', inputResponses: {} })
      assert.equal(error.code, -32021, method)
      assert.deepEqual(error.data.requiredCapabilities, { extensions: { 'io.modelcontextprotocol/tasks': {} } })
    }
    for (const method of ['tasks/result', 'tasks/list']) assert.equal((await request(method, { taskId: 'x' })).error.code, -32601, method)
  })
})
