import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isComplete, newDraft, toDraft, toNewSchedule, toPatch } from './draft.ts'
import type { Schedule } from './queries.ts'

const schedule: Schedule = {
  id: 's1',
  name: 'Report',
  issuer: 'agent-core',
  sub: 'ann',
  cron: '0 8 * * 1-5',
  timezone: 'Europe/Berlin',
  request: {
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Sales?' },
    ],
    callback_url: 'https://example.org/in',
  },
  session: { session_id: 'mine' },
  overlap: 'queue',
  catch_up: { policy: 'all', window: 600 },
  jitter: 30,
  pause_after_failures: 5,
  status: 'active',
  next_at: '2027-01-04T07:00:00Z',
  created_at: '2027-01-01T00:00:00Z',
  updated_at: '2027-01-01T00:00:00Z',
}

test('a new schedule has the fields of the form, and no field that was left empty', () => {
  const draft = { ...newDraft, question: 'Sales?', timezone: 'Asia/Kolkata', kind: 'weekdays' as const, time: '09:15' }
  const { request, cron, timezone, name } = toNewSchedule(draft)
  assert.deepEqual([cron, timezone, name], ['15 9 * * 1-5', 'Asia/Kolkata', null])
  assert.deepEqual(request, { messages: [{ role: 'user', content: 'Sales?' }], callback_url: null })
  assert.ok(isComplete(draft))
  for (const missing of [{ question: ' ' }, { time: '' }, { kind: 'once' as const }, { kind: 'cron' as const, cron: '' }]) {
    assert.ok(!isComplete({ ...draft, ...missing }), JSON.stringify(missing))
  }
})

test('a patch has the changed fields alone, so that what the form does not show stays', () => {
  const draft = toDraft(schedule)
  assert.deepEqual([draft.kind, draft.time, draft.session, draft.question], ['weekdays', '08:00', 'other', 'Sales?'])
  assert.deepEqual(toPatch(schedule, draft), {})
  assert.deepEqual(toPatch(schedule, { ...draft, name: 'Morning' }), { name: 'Morning' })
  assert.deepEqual(toPatch(schedule, { ...draft, time: '09:00' }), { cron: '0 9 * * 1-5', timezone: 'Europe/Berlin', at: null })
  assert.deepEqual(toPatch(schedule, { ...draft, question: 'Costs?', callbackUrl: ' ' }), {
    request: {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Costs?' },
      ],
      callback_url: null,
    },
  })
  assert.deepEqual(toPatch(schedule, { ...draft, catchUp: 'skip', session: 'new' }), {
    session: 'new',
    catch_up: { policy: 'skip', window: 600 },
  })
})

test('a single time is written on the clocks of the browser, and sent in UTC', () => {
  const { cron: _cron, timezone: _timezone, ...rest } = schedule
  const draft = toDraft({ ...rest, at: '2027-03-01T09:30:00Z' })
  assert.equal(new Date(draft.once).toISOString(), '2027-03-01T09:30:00.000Z')
  assert.deepEqual(toPatch(schedule, { ...draft, name: 'Report' }), { cron: null, timezone: null, at: '2027-03-01T09:30:00.000Z' })
})

test('bounds are sent in UTC, and removed with an empty field or a single time', () => {
  const bounded = { ...schedule, starts_at: '2027-01-01T00:00:30Z', ends_at: '2027-12-31T00:00:00Z', max_fires: 12 }
  const draft = toDraft(bounded)
  assert.equal(new Date(draft.endsAt).toISOString(), '2027-12-31T00:00:00.000Z')
  assert.deepEqual(toPatch(bounded, { ...draft, name: 'Year' }), { name: 'Year' })
  assert.deepEqual(toPatch(bounded, { ...draft, startsAt: '', maxFires: '' }), { starts_at: null, max_fires: null })
  assert.deepEqual(toPatch(schedule, { ...toDraft(schedule), endsAt: draft.endsAt, maxFires: 3 }), {
    ends_at: '2027-12-31T00:00:00.000Z',
    max_fires: 3,
  })
  const once = toPatch(bounded, { ...draft, kind: 'once', once: draft.endsAt })
  assert.deepEqual([once.starts_at, once.ends_at, once.max_fires], [null, null, null])
  assert.deepEqual(toPatch(schedule, { ...toDraft(schedule), catchUpWindow: 60 }), { catch_up: { policy: 'all', window: 60 } })
})
