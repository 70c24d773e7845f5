import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalZone, isTimeZone, parseTime, toLocalTime } from './time.ts'

test('a time needs its zone, and a date that exists', () => {
  assert.equal(parseTime('2027-01-01T01:00:00.5+01:00'), Date.UTC(2027, 0, 1, 0, 0, 0, 500))
  for (const text of [
    '2027-01-01T00:00:00',
    '2027-01-01',
    '2027-13-01T00:00Z',
    '2027-02-30T00:00Z',
    '2027-01-01T25:00Z',
    '',
    '1'.repeat(10_000),
  ]) {
    assert.equal(parseTime(text), undefined, text)
  }
})

test('a time zone is a name of IANA in any spelling, no offset', () => {
  for (const name of ['UTC', 'Europe/Berlin', 'europe/berlin', 'Asia/Kolkata']) assert.ok(isTimeZone(name), name)
  for (const name of ['+02:00', '-01:00', 'Mars/Base', '', 'E'.repeat(10_000)]) assert.ok(!isTimeZone(name), name)
})

test('all names of a zone share one, and its clocks have their distance from UTC', () => {
  assert.equal(canonicalZone('asia/KOLKATA'), canonicalZone('Asia/Calcutta'))
  const time = Date.UTC(2027, 0, 1, 12)
  assert.equal(toLocalTime(time, 'Asia/Kolkata')?.time, '2027-01-01T17:30:00+05:30')
  assert.equal(toLocalTime(time, 'UTC')?.time, '2027-01-01T12:00:00+00:00')
  assert.equal(toLocalTime(time, 'Mars/Base'), undefined)
})
