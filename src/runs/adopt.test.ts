import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stopLost } from './adopt.ts'
import type { LiveRun } from './live-run.ts'
import type { RunKey } from './run.ts'
import { gone, type StoredRun } from './run-store.ts'

test("runs that are not this process's any more are stopped: taken over, or their session deleted; others go on", async () => {
  const stored: Record<string, () => Promise<StoredRun | undefined>> = {
    ours: async () => ({ fence: 1 }) as StoredRun,
    unknown: async () => undefined,
    unreachable: () => Promise.reject(new Error('The database is not there.')),
    taken: async () => ({ fence: 2 }) as StoredRun,
    deleted: () => Promise.reject(gone({ tenant: 't', owner: 'o', requestId: 'deleted' })),
  }
  const stopped: string[] = []
  const runs = Object.keys(stored).map((requestId) => {
    const key: RunKey = { tenant: 't', owner: 'o', requestId }
    return { key, fence: 1, stop: () => void stopped.push(requestId) } as unknown as LiveRun
  })
  await stopLost({ find: ({ requestId }) => stored[requestId]!() }, runs)
  assert.deepEqual(stopped, ['taken', 'deleted'])
})
