import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as tick } from 'node:timers/promises'
import { ScriptedModel } from '../../agent/scripted-model.ts'
import { localBus } from '../../replicas/bus.ts'
import { MemoryRunStore } from '../memory-run-store-fixture.ts'
import { agentOf, keyOf, newRun, portsOf } from '../process-fixture.ts'
import { LiveRun } from './live-run.ts'
import { createLiveRuns } from './live-runs.ts'
import { createRunRegistry } from './run-registry.ts'
import type { Turn } from '../run-store.ts'

test('a lost run that no reader came back for ends as lost also where its turn comes at that moment, and may be repeated', async () => {
  const store = new MemoryRunStore()
  const sleep = async () => undefined
  const turn = Promise.withResolvers<Turn>()
  const live = createLiveRuns({
    ports: portsOf(store, () => undefined),
    registry: createRunRegistry({ bus: localBus, sleep }),
    queue: { wait: () => turn.promise, wake: () => undefined, announceInterrupted: () => assert.fail() },
    remote: { followElsewhere: () => assert.fail() },
    bus: localBus,
    onEnd: () => undefined,
    sleep,
  })
  const begun = await store.begin(newRun('r'))
  const { sessionId, operation, bodyHash, request, onDisconnect } = newRun('r')
  const agent = agentOf({ model: new ScriptedModel() })
  const run = new LiveRun({ key: keyOf('r'), sessionId, operation, bodyHash, request, onDisconnect, agent, fence: 1 })
  live.launch(run, undefined, Promise.resolve('orphaned'))
  await tick()
  run.stop('orphaned')
  if (begun.kind === 'running') turn.resolve(begun.turn)
  await run.ended
  const stored = (await store.find(keyOf('r')))!
  assert.equal(stored.status, 'error')
  assert.equal(stored.continuable, true)
  assert.equal(stored.error?.details?.error_type, 'ProcessLost')
})
