import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Step } from '../../agent/events.ts'
import { growsLinearly } from '../../../test/fixtures/processor-time.ts'
import type { StoredRun } from '../run-store.ts'
import type { LoggedEvent } from '../run.ts'
import { toParts } from './parts.ts'
import type { ModelRecord } from './records.ts'
import { withOpenCall, type TraceSource, bound, limitFor, type SpanPart } from './span.ts'

const stored: StoredRun = {
  tenant: 't',
  owner: 'o',
  requestId: 'r',
  session: 'k',
  sessionId: 's',
  operation: 'chain',
  bodyHash: '',
  request: undefined,
  status: 'success',
  onDisconnect: 'cancel',
  holder: 'p1',
  fence: 1,
  messageIndex: 0,
  ranMs: 0,
  createdAt: 0,
  startedAt: 0,
  endedAt: 100,
  continuable: false,
  error: undefined,
  log: undefined,
}
const end: LoggedEvent = { type: 'end', reason: 'stop', usage: [], thoughts: [] }
const text = (part: string): LoggedEvent => ({ type: 'text', label: 'answer', text: part })

function step(id: string, startedAt: number, change: Partial<Step> = {}): [LoggedEvent, LoggedEvent] {
  const ended: Step = {
    id,
    type: 'tool_call',
    tool: 'look',
    input: {},
    startedAt,
    log: '',
    output: 'seen',
    status: 'success',
    durationMs: 5,
    ...change,
  }
  return [
    { type: 'step_start', step: ended },
    { type: 'step_end', step: ended },
  ]
}

function model(n: number, startedAt: number, change: Partial<ModelRecord> = {}): ModelRecord {
  const usage = { model: 'm', input: 1, output: 1, cachedInput: 0, reasoning: 0 }
  return { type: 'model', n, from: 0, to: 0, startedAt, endedAt: startedAt + 1, usage, ...change }
}

const partsOf = (source: Partial<TraceSource>) => toParts({ run: stored, events: [], records: [], approvals: [], ...source })
const describe = (parts: readonly SpanPart[]) => parts.map(({ id, parent, status }) => `${parent ?? ''} > ${id}: ${status}`)
const find = (parts: readonly SpanPart[], id: string) => parts.find((part) => part.id === id)!

test('a log without records shows its steps as parts of the run, and those of sub-agents below their call', () => {
  const [start, ended] = step('a', 1, { type: 'sub_agent_call', tool: 'sub_agent:helper', durationMs: 50 })
  const parts = partsOf({ events: [start, ...step('b', 2, { subAgent: 'helper' }), ended, ...step('c', 60), end] })
  assert.deepEqual(describe(parts), [' > run: success', 'run > a: success', 'a > b: success', 'run > c: success'])
  assert.equal(find(parts, 'c').attributes['effect'], null)
})

test('the text of a model call is the text of its last attempt', () => {
  const events = [text('Goo'), { type: 'retrying' } as const, text('Good '), text('day.'), end]
  const parts = partsOf({ events, records: [model(1, 1, { to: 4, firstTextAt: 3 })] })
  const { output, time_to_first_token } = find(parts, 'model:1').attributes
  assert.deepEqual([output, time_to_first_token], ['Good day.', 0.002])
})

test('calls of parallel sub-agents belong to their own turns', () => {
  const subAgent = { type: 'sub_agent_call', tool: 'sub_agent:helper' } as const
  const [startA, endA] = step('a', 2, { ...subAgent, durationMs: 40 })
  const [startB, endB] = step('b', 2, { ...subAgent, durationMs: 30 })
  const inner = [...step('a1', 5, { subAgent: 'helper' }), ...step('b1', 6, { subAgent: 'helper' })]
  const records = [
    model(1, 1, { calls: ['a', 'b'] }),
    model(3, 4, { callId: 'b', calls: ['b1'] }),
    model(2, 4, { callId: 'a', calls: ['a1'] }),
    model(4, 50),
  ]
  const parts = partsOf({ events: [startA, startB, ...inner, endB, endA, end], records })
  const parents = Object.fromEntries(parts.map(({ id, parent }) => [id, parent]))
  assert.deepEqual([parents['a'], parents['b'], parents['turn:2'], parents['turn:3']], ['turn:1', 'turn:1', 'a', 'b'])
  assert.deepEqual([parents['a1'], parents['b1'], parents['turn:4']], ['turn:2', 'turn:3', 'run'])
  assert.equal(find(parts, 'turn:1').ended, 42)
})

test('waits for a reader, and moves between processes with their cause', () => {
  const parts = partsOf({
    records: [
      { type: 'held', at: 10, holder: 'p2', fence: 2, from: 'p1', cause: 'lost' },
      { type: 'wait', startedAt: 10, endedAt: 40 },
      { type: 'held', at: 60, holder: 'p3', fence: 4, cause: 'handed_over' },
      { type: 'held', at: 80, holder: 'p3', fence: 5, from: 'p3', cause: 'approval' },
    ],
  })
  assert.deepEqual(
    parts.slice(1).map(({ kind, name, started, ended, attributes }) => [kind, name, started, ended, attributes]),
    [
      ['wait', 'Waiting for a reader', 10, 40, { for: 'reader' }],
      ['move', 'Adopted from a lost process', 10, 10, { from: 'p1', to: 'p2', cause: 'lost' }],
      ['move', 'Handed over to another process', 60, 60, { from: 'p2', to: 'p3', cause: 'handed_over' }],
    ],
  )
})

test('a rejected call was decided, a call of a cancelled run was not', () => {
  const asked = { callId: 'a', tool: 'send', input: {}, by: 'role' as const, requestedAt: 5, expiresAt: 99 }
  const decided = { decision: 'reject' as const, decidedAt: 9, decidedBy: 'issuer bob smith', reason: 'No.' }
  const parts = partsOf({
    records: [model(1, 1, { calls: ['a', 'b'] })],
    approvals: [
      { ...asked, ...decided },
      { ...asked, callId: 'b', decision: 'lapsed', decidedAt: 20 },
    ],
  })
  assert.deepEqual(describe(parts).slice(-2), ['turn:1 > approval:a: success', 'turn:1 > approval:b: cancelled'])
  const { decision, decided_by, reason } = find(parts, 'approval:a').attributes
  assert.deepEqual([decision, decided_by, reason], ['reject', { issuer: 'issuer', sub: 'bob smith' }, 'No.'])
})

test('a run of another process asks its model while no step is open', () => {
  const [start, ended] = step('a', 2)
  const records = [model(1, 1, { calls: ['a'] })]
  assert.equal(withOpenCall([start], records, stored).records.length, 1)
  const [, open] = withOpenCall([start, ended], records, stored).records
  assert.deepEqual(open, { type: 'model', n: 2, from: 2, startedAt: 7 })
  assert.deepEqual(withOpenCall([], [], stored).records, [{ type: 'model', n: 1, from: 0, startedAt: 0 }])
})

test('the more parts a trace has, the shorter its long values; half a character is never left', () => {
  const part = find(partsOf({ events: [...step('a', 1, { output: `${'x'.repeat(79)}😀` }), end] }), 'a')
  assert.equal(bound(part, limitFor(1)), part)
  const cut = bound(part, limitFor(100_000))
  assert.deepEqual([cut.attributes['output'], cut.attributes['truncated']], [`${'x'.repeat(79)}\uFFFD`, true])
})

test('the trace of a long run takes time in proportion to its length', () => {
  const toSource = (turns: number): Partial<TraceSource> => {
    const numbers = Array.from({ length: turns }, (_, n) => n + 1)
    return {
      events: [...numbers.flatMap((n) => [text('Next.'), ...step(`c${n}`, 10 * n)]), end],
      records: numbers.map((n) => model(n, 10 * n, { from: 3 * (n - 1), to: 3 * (n - 1) + 1, calls: [`c${n}`] })),
    }
  }
  assert.equal(partsOf(toSource(3333)).length, 1 + 3 * 3333)
  assert.ok(growsLinearly(toSource, partsOf, 3000))
})
