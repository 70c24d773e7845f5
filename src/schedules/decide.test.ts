import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunStatus } from '../runs/run.ts'
import type { NewRun } from '../runs/run-store.ts'
import { decide, type Attempt, type Prepared } from './decide.ts'
import type { Schedule } from './schedule.ts'
import type { FireState } from './schedule-store.ts'

const now = Date.parse('2027-01-01T09:00:01Z')
const nine = now - 1000
const tomorrow = nine + 86_400_000
const rules = { offlineMs: 30 * 86_400_000 }
const run = { requestId: `schedule:s:${nine}` } as NewRun

function scheduleOf(change: Partial<Schedule> = {}): Schedule {
  const identity = {
    tenant: 't',
    issuer: 'agent-core',
    sub: 'ann',
    owner: 'agent-core ann',
    roles: ['user'],
    keyId: 'k',
    signingKeyId: 's',
  }
  return {
    ...{ tenant: 't', owner: 'agent-core ann', id: 's', name: 'Sales', session: { kind: 'new' }, jitterMs: 0, maxFires: undefined },
    spec: { cron: '0 9 * * *', timezone: 'UTC', at: undefined, startsAt: undefined, endsAt: undefined },
    ...{ overlap: 'skip', catchUp: { policy: 'latest', windowMs: 3_600_000 }, pauseAfterFailures: 5 },
    request: {
      chat: { messages: [], filters: [], headers: {} },
      ...{ bodyHash: '', body: {}, callbackUrl: undefined, reportsInterruptions: false },
    },
    identity: { ...identity, expiresAt: now + 1 },
    ...{ seenAt: now, status: 'active', pauseReason: undefined, nextAt: nine, dueAt: nine, watermark: nine - 86_400_000 },
    ...{ queuedFor: undefined, fires: 0, last: undefined, countsFrom: 0, version: '1', revision: 0, createdAt: 0, updatedAt: 0 },
    ...change,
  }
}

interface Case {
  schedule?: Partial<Schedule>
  attempt?: Partial<Attempt>
  state?: Partial<FireState>
}

function decided({ schedule, attempt, state }: Case = {}) {
  const prepared: Prepared = { run }
  const next = { at: tomorrow, dueAt: tomorrow }
  const firing = decide(
    scheduleOf(schedule),
    { kind: 'occurrence', scheduledFor: nine, missed: [], next, prepared, ...attempt },
    { now, lastStatus: undefined, failures: 0, isKeyRevoked: false, ...state },
    rules,
  )
  return firing && { ...firing, told: firing.fires.map(({ outcome, reason }) => (reason === undefined ? outcome : `${outcome} ${reason}`)) }
}

test('an occurrence starts a run, and the schedule goes on behind it', () => {
  const { told, run: begun, changes } = decided({ attempt: { missed: [{ scheduledFor: 1, count: 7 }] } })!
  assert.deepEqual([told, begun], [['missed', 'started'], run])
  assert.deepEqual(changes, {
    ...{ watermark: nine, nextAt: tomorrow, dueAt: tomorrow, queuedFor: undefined, fires: 1 },
    last: { scheduledFor: nine, requestId: run.requestId },
  })
})

test('a run that is pending, running or waits for a decision is busy, and one that has ended is not', () => {
  const statuses: RunStatus[] = ['pending', 'running', 'interrupted', 'success', 'error', 'timeout', 'cancelled']
  const told = statuses.map((lastStatus) => decided({ state: { lastStatus } })!.told[0])
  assert.deepEqual(told, [...Array<string>(3).fill('skipped overlap'), ...Array<string>(4).fill('started')])
})

test('while a run is busy, one occurrence waits, and another policy starts or prepares again', () => {
  const busy = { lastStatus: 'running' } as const
  const queued = decided({ schedule: { overlap: 'queue' }, state: busy })!
  assert.deepEqual([queued.told, queued.changes.queuedFor, queued.changes.watermark, queued.changes.dueAt], [[], nine, nine, now])
  assert.deepEqual(decided({ schedule: { overlap: 'queue', queuedFor: 1 }, state: busy })!.told, ['skipped overlap'])
  assert.deepEqual(decided({ schedule: { overlap: 'allow' }, state: busy })!.told, ['started'])
  assert.equal(decided({ schedule: { overlap: 'cancel_running' }, state: busy }), undefined)
  assert.equal(decided({ schedule: { overlap: 'queue', queuedFor: nine }, attempt: { kind: 'queued' }, state: busy }), undefined)
  assert.equal(decided({ attempt: { prepared: undefined } }), undefined, 'the run before has ended since')
})

test('the occurrence that has waited starts, and leaves the times as they are', () => {
  const { told, changes } = decided({ schedule: { queuedFor: nine, nextAt: tomorrow, dueAt: now }, attempt: { kind: 'queued' } })!
  assert.deepEqual([told, changes.queuedFor, changes.nextAt, 'watermark' in changes], [['started'], undefined, tomorrow, false])
})

test('a revoked or expired key, and an owner who is away, pause the schedule without a run', () => {
  const provider = { ...scheduleOf().identity, issuer: 'https://id.example.com', expiresAt: 0 }
  const cases: [Case, string][] = [
    [{ state: { isKeyRevoked: true } }, 'key_revoked'],
    [{ schedule: { identity: { ...scheduleOf().identity, expiresAt: now } } }, 'key_revoked'],
    [{ attempt: { prepared: { refused: 'key_revoked', pauses: true } } }, 'key_revoked'],
    [{ schedule: { identity: provider, seenAt: now - rules.offlineMs - 1 } }, 'owner_away'],
  ]
  for (const [each, reason] of cases) {
    const { told, run: begun, changes } = decided(each)!
    assert.deepEqual([told, begun], [[`refused ${reason}`], undefined])
    assert.deepEqual(
      [changes.status, changes.pauseReason, changes.nextAt, changes.dueAt, changes.watermark],
      ['paused', reason, undefined, undefined, nine],
    )
  }
  assert.deepEqual(decided({ schedule: { identity: provider, seenAt: now - rules.offlineMs } })!.told, ['started'])
  const waiting = decided({ schedule: { queuedFor: 1 }, state: { isKeyRevoked: true } })!
  assert.deepEqual(waiting.told, ['skipped overlap', 'refused key_revoked'])
})

test('a refusal is not tried again, and moves the schedule on', () => {
  const { told, changes } = decided({ attempt: { prepared: { refused: 'budget_exceeded' } } })!
  assert.deepEqual([told, changes.watermark, changes.nextAt, changes.status], [['refused budget_exceeded'], nine, tomorrow, undefined])
  assert.deepEqual(decided({ attempt: { prepared: { run, refuse: () => 'rate_limited' } } })!.told, ['refused rate_limited'])
})

test('failures in a row pause the schedule, and a trigger may try again', () => {
  const { told, changes } = decided({ schedule: { pauseAfterFailures: 2 }, state: { lastStatus: 'error', failures: 2 } })!
  assert.deepEqual([told, changes.status, changes.pauseReason], [['skipped failures'], 'paused', 'failures'])
  assert.deepEqual(decided({ schedule: { pauseAfterFailures: 0 }, state: { failures: 9 } })!.told, ['started'])
  assert.deepEqual(decided({ attempt: { kind: 'trigger' }, state: { failures: 9 } })!.told, ['started'])
})

test('a schedule ends with its last time or its last run, and not by times that were left out', () => {
  assert.equal(decided({ attempt: { next: undefined } })!.changes.status, 'ended')
  assert.equal(decided({ schedule: { maxFires: 3, fires: 2 } })!.changes.status, 'ended')
  assert.equal(decided({ schedule: { maxFires: 3, fires: 2 }, state: { lastStatus: 'running' } })!.changes.status, undefined)
  const waits = decided({ schedule: { overlap: 'queue' }, attempt: { next: undefined }, state: { lastStatus: 'running' } })!
  assert.deepEqual([waits.changes.status, waits.changes.queuedFor], [undefined, nine], 'one occurrence still waits')
  const revoked = decided({ attempt: { next: undefined }, state: { isKeyRevoked: true } })!
  assert.equal(revoked.changes.status, 'ended')
})

test('a trigger counts as no fire of the schedule, and changes neither its times nor a paused schedule', () => {
  const { changes, mustBeNew } = decided({ schedule: { maxFires: 1 }, attempt: { kind: 'trigger', scheduledFor: now } })!
  assert.deepEqual([changes.fires, changes.status, changes.nextAt, 'watermark' in changes, mustBeNew], [0, undefined, nine, false, true])
  const paused = decided({ schedule: { status: 'paused', nextAt: undefined, dueAt: undefined }, attempt: { kind: 'trigger' } })!
  assert.deepEqual([paused.told, 'status' in paused.changes, 'nextAt' in paused.changes], [['started'], false, false])
})
