import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as tick } from 'node:timers/promises'
import { localBus } from '../../replicas/bus.ts'
import { createLiveRuns } from './live-runs.ts'
import { LiveRun, type LiveRunOptions } from './live-run.ts'
import type { EndedRun, Turn } from '../run-store.ts'

test('a lost run that nobody came back for ends as lost also where its turn comes at that moment: a repeat goes on with it', async () => {
  const turn = Promise.withResolvers<Turn>()
  const ends: EndedRun[] = []
  const store = {
    takeTurn: () => turn.promise,
    checkpoints: async () => [],
    decisions: async () => new Map(),
    checkpoint: async () => undefined,
    finish: async (...[, , ended]: [unknown, unknown, EndedRun]) => void ends.push(ended),
  }
  const live = createLiveRuns({
    followElsewhere: () => assert.fail(),
    store,
    jobs: { wake: () => undefined },
    bus: localBus,
    now: () => 0,
    newId: () => 'id',
    onEnd: () => undefined,
    onFault: (_run: unknown, error: unknown) => assert.fail(error as Error),
  } as unknown as Parameters<typeof createLiveRuns>[0])
  const run = new LiveRun({
    key: { tenant: 't', owner: 'o', requestId: 'r' },
    sessionId: 's',
    operation: 'chain',
    request: { messages: [{ role: 'user', content: 'Hi' }], filters: [], headers: {} },
    agent: {
      config: {
        instructions: '',
        llms: { primary: {}, fallback: [] },
        memory: { history_tokens: 1000 },
        limits: { max_session_wait: 30 },
        max_execution_time: 1,
      },
      model: { name: 'm' },
      hold: () => () => undefined,
    },
    fence: 2,
  } as unknown as LiveRunOptions)
  live.launch(run, undefined, Promise.resolve('lost'))
  await tick()
  run.stop('lost')
  turn.resolve({ session: 'k', messageIndex: 0, messageCount: 1, windowStart: 0 })
  await run.ended
  assert.deepEqual(
    ends.map(({ status, continuable, error }) => [status, continuable, error?.details?.error_type]),
    [['error', true, 'ProcessLost']],
  )
})
