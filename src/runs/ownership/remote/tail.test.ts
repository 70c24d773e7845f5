import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as tick } from 'node:timers/promises'
import { ScriptedModel } from '../../../agent/scripted-model.ts'
import { agentOf, keyOf, newRun } from '../../process-fixture.ts'
import type { LoggedEvent } from '../../run.ts'
import { LiveRun } from '../live-run.ts'
import { Tail, type ReadPosition } from './tail.ts'

const text: LoggedEvent = { type: 'text', label: 'answer', text: 'a' }

/** Numbers of the first and last event that the third attempt of a run writes for a reader. The attempt restored 4 events, the second one 2. */
async function writtenFor(position: ReadPosition): Promise<[number, number][]> {
  const { sessionId, operation, bodyHash, request, onDisconnect } = newRun('r')
  const agent = agentOf({ model: new ScriptedModel() })
  const run = new LiveRun({ key: keyOf('r'), sessionId, operation, bodyHash, request, onDisconnect, agent, fence: 3 })
  run.log.restore([text, text, text, text], 2)
  for (let n = 0; n < 3; n++) run.log.append(text)
  const tail = new Tail(run, () => undefined)
  tail.addReader('reader', position)
  const following = tail.follow()
  await tick()
  const written = tail.take().map(({ first, last, attempt }): [number, number] => {
    assert.deepEqual(attempt, { restored: 4, restoredAt: 2 })
    return [first, last]
  })
  tail.close()
  await following
  return written
}

test('a reader gets the events after those that its attempt has in common with the attempt of the tail', async () => {
  assert.deepEqual(await writtenFor({ fence: 3, after: 6 }), [[7, 7]])
  assert.deepEqual(await writtenFor({ fence: 2, after: 6 }), [[5, 7]])
  assert.deepEqual(await writtenFor({ fence: 1, after: 6 }), [[3, 7]], 'the second attempt made events 3 and 4 again')
  assert.deepEqual(await writtenFor({ fence: 1, after: 1 }), [[2, 7]])
})
