import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Bus, Topic } from '../replicas/bus.ts'
import { createCallerIds, createRequestLimits, type RateLimits } from './rate-limits.ts'
import type { Owner } from './owner.ts'
import { shareUsage } from './usage-elsewhere.ts'

const ann = { tenant: 't', owner: 'agent-core ann', roles: ['user'] }

/** Processes that hear each other, each second that `tick` lets pass; what was told, as it would be sent. */
function processes(t: TestContext, limits: RateLimits, count = 2) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const state = { at: 0 }
  const listeners = new Map<string, Map<Topic, (data: never) => void>>()
  const sent: string[] = []
  const start = (process: string) => {
    const heard = new Map<Topic, (data: never) => void>()
    listeners.set(process, heard)
    const bus: Bus = {
      publish(topic, data) {
        sent.push(JSON.stringify(data))
        for (const [name, those] of listeners) if (name !== process) those.get(topic)?.(JSON.parse(sent.at(-1)!) as never)
      },
      subscribe(topic, listener) {
        heard.set(topic, listener)
        return () => void heard.delete(topic)
      },
      onGap: () => () => undefined,
    }
    const runs: Owner[] = []
    const now = () => state.at
    const idOf = createCallerIds()
    const requests = createRequestLimits({ limits: () => limits, now, idOf, isShared: true })
    const usage = shareUsage({ bus, process, idOf, limits: () => limits, requests, running: () => runs, now })
    t.after(() => usage.close())
    return { runs, requests, usage, heard, take: (caller: Owner = ann) => requests.take({ ...ann, ...caller })?.retryAfter }
  }
  const tick = (seconds = 1) => {
    for (let n = 0; n < seconds; n++) {
      state.at += 1000
      t.mock.timers.tick(1000)
    }
  }
  return { all: Array.from({ length: count }, (_, n) => start(`p${n}`)), sent, tick, state }
}

test('requests to one process count in the others a second later, for a minute', (t) => {
  const { all, tick } = processes(t, { user: { requests_per_minute: 5 } })
  const [a, b] = all as [(typeof all)[number], (typeof all)[number]]
  for (let n = 0; n < 3; n++) assert.equal(a.take(), undefined)
  tick()
  assert.deepEqual([b.take(), b.take(), b.take()], [undefined, undefined, 60])
  tick()
  assert.equal(a.take(), 58)
  tick(59)
  assert.equal(a.take(), undefined)
})

test('within a second every process accepts up to the limit, and all requests count afterwards', (t) => {
  const { all, tick } = processes(t, { user: { requests_per_minute: 5 } }, 3)
  let taken = 0
  for (const one of all) for (let n = 0; n < 10; n++) if (one.take() === undefined) taken++
  assert.equal(taken, 15)
  tick()
  for (const one of all) assert.ok(one.take())
})

test('usage is published only for limited callers, only once, and never with names', (t) => {
  const { all, sent, tick } = processes(t, { default: {}, user: { requests_per_minute: 5 } })
  all[0]!.requests.take({ ...ann, roles: ['admin'] })
  all[0]!.runs.push(ann)
  tick(30)
  assert.deepEqual(sent, [])
  all[0]!.take()
  tick(3)
  assert.equal(sent.length, 1)
  assert.match(sent[0]!, /^\{"process":"p0","requests":\[\["[\w-]{12}",1\]\],"runs":\[\]\}$/)
})

test('each message is small for any number of callers, and finally all are published', (t) => {
  const { all, sent, tick } = processes(t, { user: { requests_per_minute: 1 } })
  const callers = Array.from({ length: 5000 }, (_, n) => ({ tenant: 't', owner: `agent-core user ${n}` }))
  for (const one of callers) all[0]!.take(one)
  tick(1)
  assert.ok(sent.length <= 20)
  tick(2)
  assert.ok(sent.every((text) => text.length < 7000))
  assert.ok(callers.every((one) => all[1]!.take(one) !== undefined))
})

test('runs of a caller count elsewhere until they end, or their process exits or falls silent', (t) => {
  const { all, tick } = processes(t, { user: { concurrent_runs: 2 } }, 3)
  const [a, b, c] = all as [(typeof all)[number], (typeof all)[number], (typeof all)[number]]
  a.runs.push({ ...ann }, { ...ann })
  b.runs.push(ann)
  tick()
  assert.deepEqual([a.usage.runsOf(ann), b.usage.runsOf(ann), c.usage.runsOf({ ...ann })], [1, 2, 3])
  assert.equal(c.usage.runsOf({ ...ann, tenant: 'u' }), 0)
  a.runs.pop()
  tick()
  assert.equal(c.usage.runsOf(ann), 2)
  tick(60)
  assert.equal(c.usage.runsOf(ann), 2)
  c.heard.get('left')!({ holder: 'p1' } as never)
  assert.equal(c.usage.runsOf(ann), 1)
  a.usage.close()
  tick(40)
  assert.equal(c.usage.runsOf(ann), 1, 'of b alone, which is there all the same')
})
