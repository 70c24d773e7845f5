import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient, type CallbackEvent, type Reply, type Schema } from '../src/index.ts'

/** Expectations that the compiler checks. Nothing is sent: the function is never called. */
export async function checkTypes(): Promise<unknown[]> {
  const client = createClient({ baseUrl: 'http://127.0.0.1' })
  const messages = [{ role: 'user' as const, content: 'Hello' }]

  const run = await client.request('GET', '/core/v1/runs/{request_id}', { path: { request_id: 'r' } })
  const status: 'pending' | 'running' | 'interrupted' | 'success' | 'error' | 'timeout' | 'cancelled' = run.status
  // @ts-expect-error: no such field
  const missing = run.unknown
  // @ts-expect-error: no such path
  const path = client.request('GET', '/core/v1/run')
  // @ts-expect-error: the path has no such method
  const method = client.request('PUT', '/core/v1/runs/{request_id}', { path: { request_id: 'r' } })
  // @ts-expect-error: the path requires a parameter
  const parameter = client.request('GET', '/core/v1/runs/{request_id}')
  // @ts-expect-error: the parameter has another name
  const name = client.request('GET', '/core/v1/runs/{request_id}', { path: { id: 'r' } })
  // @ts-expect-error: the query has no such field
  const query = client.request('GET', '/core/v1/sessions', { query: { size: 1 } })
  // @ts-expect-error: the path takes no body
  const extra = client.request('GET', '/core/v1/sessions', { body: {} })
  // @ts-expect-error: the body is required
  const body = client.request('POST', '/core/v1/chain')
  // @ts-expect-error: no such role
  const role = client.request('POST', '/core/v1/chain', { body: { messages: [{ role: 'robot', content: '' }] } })

  const answer = await client.request('POST', '/core/v1/chain', { body: { messages } })
  if ('approval_required' in answer) answer.approval_required.calls.map(({ tool }) => tool)
  const output: string = answer.body.output
  const stream: Response | undefined = await client.request('GET', '/core/v1/runs/{request_id}/stream', { path: { request_id: 'r' } })
  const { headers, body: tools } = await client.exchange('GET', '/core/v1/tools')
  const names: string[] = tools.tools.map((tool) => tool.name)
  const chunk: Schema<'StreamChunk'>['finish_reason'] = 'stop'
  const sessions: Reply<'GET', '/core/v1/sessions'>['count'] = 1
  const callsOf = (event: CallbackEvent) => (event.type === 'ai.service.agent.chain.interrupted' ? event.data.client_tool_calls?.calls : [])
  return [
    status,
    missing,
    path,
    method,
    parameter,
    name,
    query,
    extra,
    body,
    role,
    output,
    stream,
    headers,
    names,
    chunk,
    sessions,
    callsOf,
  ]
}

test('the types of requests are checked by the compiler', () => assert.equal(typeof checkTypes, 'function'))
