import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plan } from './plan.ts'
import { simulate } from './simulate.ts'

/** Schedules that broke an invariant before a change of the product, as small as they were found. */

test('a cancelled run that waits for approval has ended when the cancellation is answered, also after a failure of the database', async () => {
  assert.deepEqual((await simulate(cancelledWhileDatabaseFails)).faults, [])
})

test('a cancellation is refused where the run on another process was ended by its client, so that a repeat may continue the run', async () => {
  assert.deepEqual((await simulate(cancelledWhileClientLeaves)).faults, [])
})

test('a waiting run that its process has dropped goes on, although its request is repeated', async () => {
  assert.deepEqual((await simulate(droppedWhileRepeated)).faults, [])
})

test('a client that leaves while the last call of a used up budget is made has cancelled its run', async () => {
  assert.deepEqual((await simulate(leftDuringLastCall)).faults, [])
})

test('a result whose commit failed is stored with the end of its call in the ledger, also where the process is killed before the run ends', async () => {
  assert.deepEqual((await simulate(killedAfterFailedResult)).faults, [])
})

test('a schedule is the same each time', async () => {
  const [first, second] = [await simulate(cancelledWhileDatabaseFails), await simulate(cancelledWhileDatabaseFails)]
  assert.deepEqual(first, second)
  assert.ok(first.tasks > 50)
})

const leftDuringLastCall: Plan = {
  steps: [
    { kind: 'chat', process: 0, session: 0, question: 'plain', way: 'waits' },
    { kind: 'leave', run: 0 },
    { kind: 'decide', process: 0, run: 0, decision: 'approve' },
  ],
  picks: [],
  budget: { nanoUsd: 256, tokens: 260, price: 1, reserved: 50, share: 0.01 },
}

const cancelledWhileDatabaseFails: Plan = {
  steps: [
    { kind: 'chat', process: 0, session: 0, question: 'approve', way: 'waits' },
    { kind: 'kill', process: 0, during: 'tool' },
    { kind: 'cancel', process: 1, run: 0 },
    { kind: 'fail', process: 1, after: 2, isStored: false },
    { kind: 'stall', process: 0 },
  ],
  picks: [],
}

const cancelledWhileClientLeaves: Plan = {
  steps: [
    { kind: 'chat', process: 1, session: 0, question: 'plain', way: 'waits' },
    { kind: 'cancel', process: 0, run: 0 },
    { kind: 'leave', run: 0 },
    { kind: 'kill', process: 0, during: 'tool' },
    { kind: 'repeat', process: 0, run: 0 },
    { kind: 'chat', process: 0, session: 0, question: 'plain', way: 'waits' },
  ],
  picks: [62, 0, 17, 37, 0, 0, 0, 13, 0, 11, 0, 56, 0, 0, 15, 17, 35, 0, 0, 54, 7, 34, 18],
}

const droppedWhileRepeated: Plan = {
  steps: [
    { kind: 'chat', process: 0, session: 0, question: 'approve', way: 'waits' },
    { kind: 'follow', process: 0, run: 0 },
    { kind: 'repeat', process: 0, run: 0 },
    { kind: 'chat', process: 0, session: 0, question: 'plain', way: 'waits' },
    { kind: 'follow', process: 0, run: 0 },
    { kind: 'fail', process: 0, after: 1, isStored: false },
    { kind: 'kill', process: 1, during: 'anything' },
    { kind: 'deafen', process: 0, messages: 1 },
    { kind: 'repeat', process: 0, run: 1 },
  ],
  picks: [
    45, 5, 35, 0, 22, 5, 27, 26, 15, 9, 13, 55, 11, 11, 1, 0, 0, 36, 5, 13, 0, 50, 42, 5, 26, 42, 50, 14, 28, 58, 1, 35, 5, 18, 3, 38, 8,
    33, 17, 18, 12, 24, 57, 54, 22, 44, 23, 63, 51, 8, 50, 12, 5, 47, 58, 41, 53, 39, 48, 51, 34, 43, 63, 39, 41, 36, 50, 8, 1, 32, 3,
  ],
}

const killedAfterFailedResult: Plan = {
  steps: [
    { kind: 'chat', process: 1, session: 1, question: 'write', way: 'waits' },
    { kind: 'repeat', process: 1, run: 0 },
    { kind: 'chat', process: 1, session: 1, question: 'plain', way: 'waits' },
    { kind: 'message', process: 0, run: 0, mode: 'follow_up' },
    { kind: 'fail', process: 1, after: 6, isStored: false },
    { kind: 'leave', run: 0 },
    { kind: 'deafen', process: 0, messages: 1 },
    { kind: 'chat', process: 1, session: 1, question: 'plain', way: 'waits' },
    { kind: 'kill', process: 1, during: 'tool' },
  ],
  picks: [
    34, 35, 53, 0, 0, 0, 3, 19, 31, 5, 31, 29, 22, 39, 5, 0, 13, 41, 15, 61, 49, 45, 43, 11, 0, 33, 12, 5, 9, 12, 8, 21, 19, 21, 32, 33, 54,
    0, 45, 25, 14, 0, 14, 0, 8, 28, 46, 55, 0, 27, 8, 49, 0, 41, 47, 52, 27, 10, 0, 11, 56, 0, 14, 0, 0, 37, 9, 0, 12, 0, 0, 47, 14, 0, 3,
    0, 0,
  ],
  broken: [0],
}
