import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PhaseTimes } from '../../concurrency/phase-times.ts'
import type { Step, StepStart } from '../../agent/events.ts'
import { ScriptedModel } from '../../agent/scripted-model.ts'
import { agentOf } from '../process-fixture.ts'
import { TraceRecorder } from '../trace/recorder.ts'
import { EventLog } from '../log/event-log.ts'
import type { EarlierAttempts, LiveRun } from '../ownership/live-run.ts'
import { emptyProgress } from './prepare.ts'
import { checkpoint, restore } from './progress.ts'
import type { Checkpoint, RunStore } from '../run-store.ts'

const turn = { session: 's', messageIndex: 0, messageCount: 1, windowStart: 0 }

function start(id: string): StepStart {
  return { id, type: 'tool_call', tool: 'note', input: {}, startedAt: 1 }
}

function end(id: string): Step {
  return { ...start(id), log: '', output: null, status: 'success', durationMs: 1 }
}

function newRun(earlier: EarlierAttempts = { restoredAt: undefined, hasUnstored: true }): LiveRun {
  const log = new EventLog()
  const trace = new TraceRecorder({ log, agent: agentOf({ model: new ScriptedModel() }) })
  const key = { tenant: 't', owner: 'o', requestId: 'r' }
  return { key, fence: 1, log, trace, earlier, times: new PhaseTimes(), markProgress: () => undefined } as unknown as LiveRun
}

/** Restores an attempt, which then stores further events as one checkpoint. Returns `restoredAt` of the attempt. */
async function attempt(stored: Checkpoint[], earlier: EarlierAttempts, events: number): Promise<number | undefined> {
  const store = { checkpoint: async (_key, _fence, _n, data) => void stored.push(structuredClone(data)) } as RunStore
  const run = newRun(earlier)
  const progress = emptyProgress(turn)
  restore(run, progress, stored)
  for (let n = 0; n < events; n++) run.log.append({ type: 'text', label: 'answer', text: 'a' })
  progress.completeEvents = run.log.events.length
  await checkpoint(run, progress, store)
  return run.log.restoredAt
}

test('an attempt knows the smallest number at which a lost attempt was continued, from the checkpoints of attempts before', async () => {
  const stored: Checkpoint[] = []
  const fresh = { restoredAt: undefined, hasUnstored: false }
  const lost = { restoredAt: undefined, hasUnstored: true }
  assert.equal(await attempt(stored, fresh, 3), undefined)
  assert.equal(await attempt(stored, lost, 4), 3)
  assert.equal(await attempt(stored, lost, 5), 3, 'after the second loss')
  const interrupted = { restoredAt: 3, hasUnstored: false }
  assert.equal(await attempt(stored, interrupted, 1), 3, 'after an interruption')
  assert.equal(await attempt(stored, lost, 1), 3, 'after a loss behind the interruption')
})

test('an attempt after an interruption alone makes no events again, and a loss behind it makes only those after the interruption', async () => {
  const stored: Checkpoint[] = []
  const resumed = { restoredAt: undefined, hasUnstored: false }
  assert.equal(await attempt(stored, resumed, 3), undefined)
  assert.equal(await attempt(stored, resumed, 2), undefined)
  assert.equal(await attempt(stored, { restoredAt: undefined, hasUnstored: true }, 1), 5)
})

test('what an earlier version stored of an interrupted run counts too', async () => {
  assert.equal(await attempt([], { restoredAt: 2, hasUnstored: false }, 3), 2)
})

test('a restored log has the events of the live one, one for one', async () => {
  const stored: Checkpoint[] = []
  const store = { checkpoint: async (_key, _fence, _n, data) => void stored.push(structuredClone(data)) } as RunStore
  const run = newRun()
  const progress = emptyProgress(turn)
  const write = async (id: string) => {
    const step_end = { type: 'step_end', step: end(id) } as const
    await checkpoint(run, progress, store, step_end)
    run.log.append(step_end)
    progress.completeEvents = run.log.events.length
  }
  run.log.append({ type: 'step_start', step: start('w1') })
  run.log.append({ type: 'step_start', step: start('r1') })
  await write('w1')
  run.log.append({ type: 'step_start', step: start('w2') })
  await write('w2')
  const next = newRun()
  const restored = emptyProgress(turn)
  restore(next, restored, stored)
  assert.deepEqual([...next.log.events], [...run.log.events])
  assert.deepEqual(
    restored.steps.map((step) => step.id),
    ['w1', 'w2'],
  )
})
