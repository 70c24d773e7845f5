import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSpec } from './calendar.ts'
import { previewOf } from './preview.ts'

const preview = (cron: string, timezone: string, after: string, count = 2) =>
  previewOf(parseSpec({ cron, timezone }), Date.parse(after), count)

test('a time that does not exist is shown with a note, and with the local time at which the run starts', () => {
  assert.deepEqual(preview('30 2 * * *', 'Europe/Berlin', '2027-03-27T12:00:00Z'), [
    { at: '2027-03-28T01:00:00Z', local: '2027-03-28T03:00:00+02:00', note: 'moved_by_dst' },
    { at: '2027-03-29T00:30:00Z', local: '2027-03-29T02:30:00+02:00' },
  ])
  assert.equal(preview('0 0 * * *', 'America/Santiago', '2026-09-05T12:00:00Z', 1)[0]?.note, 'moved_by_dst')
})

test('a time that exists twice has a note, in zones whose clocks change by half an hour and by two hours too', () => {
  assert.deepEqual(preview('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z'), [
    { at: '2026-10-25T00:30:00Z', local: '2026-10-25T02:30:00+02:00', note: 'second_of_two_skipped' },
    { at: '2026-10-26T01:30:00Z', local: '2026-10-26T02:30:00+01:00' },
  ])
  assert.equal(preview('45 1 * * *', 'Australia/Lord_Howe', '2027-04-03T12:00:00Z', 1)[0]?.note, 'second_of_two_skipped')
  assert.equal(preview('15 1 * * *', 'Australia/Lord_Howe', '2027-04-03T12:00:00Z', 1)[0]?.note, undefined)
  assert.equal(preview('30 1 * * *', 'Antarctica/Troll', '2026-10-24T12:00:00Z', 1)[0]?.note, 'second_of_two_skipped')
})

test('times that exist once, and those that follow real time, have no note', () => {
  for (const [cron, zone] of [
    ['0 3 * * *', 'Europe/Berlin'],
    ['0 2 * * *', 'Asia/Kolkata'],
    ['*/30 * * * *', 'Europe/Berlin'],
  ] as const) {
    for (const after of ['2027-03-28T00:00:00Z', '2026-10-24T23:30:00Z']) {
      assert.deepEqual(
        preview(cron, zone, after, 5).filter(({ note }) => note),
        [],
        `${cron} ${zone}`,
      )
    }
  }
})

test('a single time is shown in UTC, and in its zone where it has one', () => {
  assert.deepEqual(previewOf(parseSpec({ at: '2027-07-01T09:00:00+02:00' }), 0, 5), [
    { at: '2027-07-01T07:00:00Z', local: '2027-07-01T07:00:00+00:00' },
  ])
})
