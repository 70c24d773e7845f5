import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { startService } from '../fixtures/service.ts'
import { callOf } from '../fixtures/tools.ts'

function script({ body }: ModelServerRequest) {
  return body.messages.at(-1).content === 'CALL' ? callOf('locate') : { text: 'Hidden.' }
}

test('What callers send is bounded at each door, and a state of MCP reads no run for a key without its permission', async (t) => {
  const config = { limits: { max_input_characters: 10_000 }, access: { roles: { asker: ['chat'] } } }
  const { client, as, model } = await startService(t, { script, config })

  await t.test('the tools of a client together', async () => {
    const description = 'x'.repeat(16_000)
    const tools = Array.from({ length: 17 }, (_, n) => ({ name: `t${n}`, description, schema: { type: 'object' } }))
    const reply = await client.chat({ messages: [{ role: 'user', content: 'Hi.' }], client_tools: tools })
    assert.equal(reply.status, 422)
    const [fault] = reply.body.details.errors
    assert.deepEqual(fault.loc, ['body', 'client_tools', 16, 'schema'])
    assert.equal(fault.msg, 'the tools must have at most 262144 characters together')
  })

  await t.test('the error of a tool of a page', async () => {
    const body = { threadId: 't3', runId: 'r3', messages: [{ id: 'm1', role: 'user', content: 'CALL' }], tools: [{ name: 'locate' }] }
    const { text } = await client.request('POST', '/ag-ui', { body })
    const toolCallId = /"pendingToolCallIds":\["([^"]+)"/.exec(text)?.[1]
    const answer = { id: 'm2', role: 'tool', toolCallId, content: '', error: 'e'.repeat(100_000) }
    await client.request('POST', '/ag-ui', { body: { ...body, runId: 'r4', messages: [...body.messages, answer] } })
    const run = await client.run('r3')
    assert.equal(run.body.status, 'success')
    assert.ok(run.text.length < 50_000, `${run.text.length} characters`)
    const { body: sent } = model.requests.at(-1)!
    assert.ok(JSON.stringify(sent.messages).length < 30_000)
    model.requests.length = 0
  })

  await t.test('what a page shows, in AG-UI', async () => {
    const messages = [{ id: 'm1', role: 'user', content: 'Hi.' }]
    const context = [{ description: 'page', value: 'y'.repeat(10_000) }]
    const reply = await client.request('POST', '/ag-ui', { body: { threadId: 't1', runId: 'r1', messages, context } })
    assert.match(reply.text, /must have at most 10000 characters together/)
    assert.equal(model.requests.length, 0)
  })

  await t.test('a response with its parameters, also one that resumes a run', async () => {
    const tools = [{ type: 'function', name: 'locate' }]
    const ask = (body: object) => client.request('POST', '/v1/responses', { body: { model: 'agent-core', tools, ...body } })
    assert.equal((await ask({ input: 'Hi.', user: 'u'.repeat(450_000) })).status, 413)
    const [call] = (await ask({ input: 'CALL' })).body.output
    const output = { type: 'function_call_output', call_id: call.call_id, output: 'Here.' }
    const long = await ask({ input: [{ role: 'user', content: 'h'.repeat(450_000) }, call, output] })
    assert.match(long.body.error.message, /^The request must have at most 410000 characters, but has 450\d+\.$/)
    assert.equal((await ask({ input: [{ role: 'user', content: 'CALL' }, call, output] })).status, 200)
    model.requests.length = 0
  })

  await t.test('messages added to a conversation, and names of functions', async () => {
    const items = [{ role: 'user', content: 'c'.repeat(10_001) }]
    assert.equal((await client.request('POST', '/v1/conversations', { body: { items } })).status, 413)
    const { body } = await client.request('POST', '/v1/conversations', { body: {} })
    assert.equal((await client.request('POST', `/v1/conversations/${body.id}/items`, { body: { items } })).status, 413)
    const named = { model: 'agent-core', input: 'Hi.', tools: [{ type: 'function', name: 'bad name' }] }
    assert.equal((await client.request('POST', '/v1/responses', { body: named })).body.error.param, 'tools[0].name')
  })

  await t.test('a state of MCP', async () => {
    await client.chat('A question.', { 'request-id': 'r2' })
    const asker = await as({ roles: ['asker'] })
    const meta = { protocolVersion: '2026-07-28', clientInfo: { name: 'test', version: '1' }, clientCapabilities: {} }
    const _meta = Object.fromEntries(Object.entries(meta).map(([name, value]) => [`io.modelcontextprotocol/${name}`, value]))
    const params = { name: 'ask', arguments: { message: 'x' }, requestState: 'r2', _meta }
    const headers = {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'ask',
    }
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
    const { text } = await asker.request('POST', '/mcp', { body, headers })
    assert.match(text, /this key lacks the permission/)
    assert.doesNotMatch(text, /Hidden/)
  })
})
