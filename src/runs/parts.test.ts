import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Principal } from '../access/permissions.ts'
import { invalid } from '../errors.ts'
import { toCompact } from './log/compact-log.ts'
import type { RequestedDecision } from './approvals/decisions.ts'
import { answerCalls, isOpen, lastReceived, usageBefore } from './parts.ts'
import type { StoredRun } from './run-store.ts'
import type { InterruptEvent, LoggedEvent } from './run.ts'
import type { DecidedCall } from './trace/span.ts'

const principal = { tenant: 't', owner: 'o' } as Principal
const usage = [{ unit: 'tokens' }] as unknown as InterruptEvent['usage']
const callOf = (callId: string): DecidedCall => ({ callId, tool: 'x', input: {}, by: 'client', requestedAt: 1, expiresAt: 2 })
const interruptOf = (...calls: DecidedCall[]): LoggedEvent => ({ type: 'interrupt', calls, usage, thoughts: [] })
const text: LoggedEvent = { type: 'text', label: 'answer', text: 'a' }

/** A run with calls; decisions change the calls, as the store does. */
function waitingRun(events: LoggedEvent[], calls: DecidedCall[], status: StoredRun['status'] = 'interrupted') {
  const decided: RequestedDecision[] = []
  const run = { tenant: 't', owner: 'o', requestId: 'r', status, log: { input: '', events: toCompact(events) } } as StoredRun
  const services = {
    openCalls: { ofRun: async () => calls.map((call) => ({ ...call })) },
    approvals: {
      async decide(_caller: Principal, _requestId: string, decision: RequestedDecision) {
        decided.push(decision)
        calls.find(({ callId }) => callId === decision.callId)!.decision = decision.decision
        return run
      },
    },
  }
  return { run, services, decided }
}

const outputOf = ({ callId }: DecidedCall): RequestedDecision => ({ callId, decision: 'output', output: 1 })

test('the part behind the answers to all calls begins behind their interruption', async () => {
  const calls = [callOf('a'), callOf('b')]
  const { run, services, decided } = waitingRun([text, interruptOf(...calls)], calls)
  const part = await answerCalls(services, { principal, run, toDecisions: (open) => open.map(outputOf) })
  assert.deepEqual(
    decided.map(({ callId }) => callId),
    ['a', 'b'],
  )
  assert.deepEqual([part.before.length, part.open.length, lastReceived(part)], [2, 0, 2])
  assert.equal(usageBefore(part), part.before[1]?.type === 'interrupt' && part.before[1].usage)
})

test('while a call is open, the client is sent the interruption again', async () => {
  const calls = [callOf('a'), callOf('b')]
  const { run, services } = waitingRun([text, interruptOf(...calls)], calls)
  const part = await answerCalls(services, { principal, run, toDecisions: ([first]) => [outputOf(first!)] })
  assert.deepEqual([part.open.map(({ callId }) => callId), lastReceived(part)], [['b'], 1])
})

test('repeated answers get all calls of the run, and the part behind the interruption with their calls', async () => {
  const [first, second] = [callOf('a'), callOf('b')]
  const events = [interruptOf(first), text, interruptOf(second), text]
  const decidedCalls = [first, second].map((call): DecidedCall => ({ ...call, decision: 'output' }))
  const { run, services } = waitingRun(events, decidedCalls, 'success')
  const part = await answerCalls(services, { principal, run, toDecisions: (calls) => calls.slice(0, 1).map(outputOf) })
  assert.deepEqual([part.before.length, part.open], [1, []])
})

test('answers that cannot be read, or to a run that has never waited, decide nothing', async () => {
  const calls = [callOf('a')]
  const { run, services, decided } = waitingRun([text], calls, 'running')
  const steps: string[] = []
  const prepare = async () => void steps.push('prepared')
  const refuse = () => {
    throw invalid(['body'], 'is no answer')
  }
  await assert.rejects(answerCalls(services, { principal, run, toDecisions: refuse, prepare }), { code: 'validation' })
  const answers = { principal, run, toDecisions: (open: readonly DecidedCall[]) => open.map(outputOf), prepare }
  await assert.rejects(answerCalls(services, answers), { code: 'not_interrupted' })
  assert.deepEqual([decided, steps, calls.every(isOpen)], [[], [], true])
})
