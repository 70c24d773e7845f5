import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PhaseTimes } from '../../concurrency/phase-times.ts'
import type { Step, StepStart } from '../../agent/events.ts'
import { ScriptedModel } from '../../agent/scripted-model.ts'
import { agentOf } from '../process-fixture.ts'
import { TraceRecorder } from '../trace/recorder.ts'
import { EventLog } from '../log/event-log.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import { checkpoint, emptyProgress, restore } from './progress.ts'
import type { Checkpoint, RunStore } from '../run-store.ts'

const turn = { session: 's', messageIndex: 0, messageCount: 1, windowStart: 0 }

function start(id: string): StepStart {
  return { id, type: 'tool_call', tool: 'note', input: {}, startedAt: 1 }
}

function end(id: string): Step {
  return { ...start(id), log: '', output: null, status: 'success', durationMs: 1 }
}

test('a restored log has the events of the live one, one for one', async () => {
  const stored: Checkpoint[] = []
  const store = { checkpoint: async (_key, _fence, _n, data) => void stored.push(structuredClone(data)) } as RunStore
  const newRun = () => {
    const log = new EventLog()
    const trace = new TraceRecorder({ log, agent: agentOf({ model: new ScriptedModel() }) })
    return {
      key: { tenant: 't', owner: 'o', requestId: 'r' },
      fence: 1,
      log,
      trace,
      times: new PhaseTimes(),
      markProgress: () => undefined,
    } as unknown as LiveRun
  }
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
  assert.deepEqual(next.log.events, run.log.events)
  assert.deepEqual(
    restored.steps.map((step) => step.id),
    ['w1', 'w2'],
  )
})
