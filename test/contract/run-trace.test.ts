import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'
import { callOf, fakeTool } from '../fixtures/tools.ts'

const ids = { 'request-id': 'r1', 'session-id': 's1' }
const read = (client: Client, query = '') => client.request('GET', `/core/v1/runs/r1/trace${query}`)

interface Span {
  id: string
  parent_id: string | null
  kind: string
  name: string
  status: string
  started_at: string
  ended_at: string | null
  attributes: any
}

async function spansOf(client: Client, query = ''): Promise<Span[]> {
  const { status, body, text } = await read(client, query)
  assert.equal(status, 200, text)
  return body.spans
}

/** The tree as indented lines `kind name: status`. */
function draw(spans: readonly Span[], parent: string | null = null, indent = ''): string[] {
  return spans
    .filter(({ parent_id }) => parent_id === parent)
    .flatMap((span) => [`${indent}${span.kind} ${span.name}: ${span.status}`, ...draw(spans, span.id, `${indent}  `)])
}

test('Run trace: a chat with a tool is a run with turns, model calls and the tool call', async (t) => {
  const usage = { input: 10, output: 5, cached: 4 }
  const script = [
    { ...callOf('look', { at: 'A' }), usage },
    { text: ['A is', ' 1.'], reasoning: 'I know.', usage },
  ]
  const { client } = await startService(t, { script, tools: [fakeTool('look', async () => ({ a: 1 }))] })
  await client.chat('What is A?', ids)
  const spans = await spansOf(client)
  assert.deepEqual(draw(spans), [
    'run chain: success',
    '  turn Turn 1: success',
    '    model scripted: success',
    '    tool look: success',
    '  turn Turn 2: success',
    '    model scripted: success',
  ])
  const [root, , first, tool, , second] = spans
  assert.deepEqual(
    [root!.attributes.input_tokens, root!.attributes.output_tokens, root!.attributes.model_calls, root!.attributes.session_id],
    [20, 10, 2, 's1'],
  )
  assert.deepEqual({ ...tool!.attributes, log: '' }, { tool: 'look', tool_input: { at: 'A' }, output: { a: 1 }, effect: 'read', log: '' })
  const { attempts, ...call } = first!.attributes
  assert.deepEqual(
    [call.model, call.input_tokens, call.output_tokens, call.cached_input_tokens, call.cost, call.time_to_first_token],
    ['scripted', 10, 5, 4, null, null],
  )
  assert.deepEqual(
    attempts.map(({ model, status }: { model: string; status: string }) => [model, status]),
    [['scripted', 'success']],
  )
  assert.deepEqual([second!.attributes.output, second!.attributes.reasoning], ['A is 1.', 'I know.'])
  assert.ok(second!.attributes.time_to_first_token >= 0)
  for (const { started_at, ended_at } of spans) assert.ok(ended_at !== null && started_at <= ended_at)
})
