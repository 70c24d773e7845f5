import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PendingCall } from '../../agent/approval.ts'
import { interruptReason, toWaitingFields, toWaitingText } from './approval-view.ts'

const resets_at = '2026-11-29T00:00:00.000Z'
const budget = (name: string, input: PendingCall['input'] = { budget: name, needed: { usd: 0.1 }, resets_at }): PendingCall => ({
  callId: `id of ${name}`,
  tool: name,
  input,
  by: 'budget',
})
const call = (by: PendingCall['by']): PendingCall => ({ callId: 'c1', tool: 'send', input: { to: 'Bob' }, by })

test('a budget is no call: it has a field of its own, and the first of several is shown', () => {
  assert.deepEqual(toWaitingFields('r1', [budget('day'), budget('month')]), {
    budget_required: { request_id: 'r1', budget: 'day', needed: { usd: 0.1 }, resets_at },
  })
  const { approval_required, budget_required, client_tool_calls } = toWaitingFields('r1', [call('caller'), budget('day'), call('client')])
  assert.deepEqual([approval_required?.calls.length, budget_required?.budget, client_tool_calls?.calls.length], [1, 'day', 1])
})

test('a budget comes before calls of the client, as an approval does', () => {
  assert.equal(interruptReason([budget('day'), call('client')]), 'approval_required')
  assert.equal(interruptReason([call('client')]), 'tool_calls')
})

test('a text names the budget, its end, and the permission that raises the limit', () => {
  const text = toWaitingText('r1', [budget('day')])
  const route = 'POST /core/v1/runs/r1/approvals'
  const sentence = `A person with the permission budgets.write raises its limit with ${route}.`
  assert.equal(text, `The run waits, because budget day is used up until ${resets_at}. ${sentence}`)
  const ofRun = toWaitingText('r1', [budget('run', { budget: 'run', needed: { tokens: 300 } })])
  assert.equal(ofRun, `The run waits, because budget run is used up. ${sentence}`)
})
