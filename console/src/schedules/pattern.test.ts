import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeCron, kinds, noRepetition, toCron, toRepetition } from './pattern.ts'

test('each kind makes a pattern, and the pattern is read back as the same kind', () => {
  const chosen = { ...noRepetition, time: '09:05', weekday: '3', day: '31', cron: '*/7 9-17 * * MON' }
  const patterns = kinds.flatMap(({ value: kind }) => toCron({ ...chosen, kind }) ?? [])
  assert.deepEqual(patterns, ['5 * * * *', '5 9 * * *', '5 9 * * 1-5', '5 9 * * 3', '5 9 31 * *', '*/7 9-17 * * MON'])
  assert.deepEqual(
    patterns.map((cron) => toRepetition(cron).kind),
    ['hourly', 'daily', 'weekdays', 'weekly', 'monthly', 'cron'],
  )
  assert.deepEqual([toRepetition('5 9 * * 3').weekday, toRepetition('5 9 L * *').day, toRepetition('5 9 * * 3').time], ['3', 'L', '09:05'])
})

test('other patterns stay as they are', () => {
  for (const cron of ['@daily', '0 9 * * 8', '0 9 1,15 * *', '0 9 1 * 1', '0 9 * 2 *', '0 25 99 * *x', '0  9 * * *', 'x', '']) {
    assert.deepEqual([toRepetition(cron).kind, toRepetition(cron).cron], ['cron', cron])
    assert.equal(describeCron(cron), cron)
  }
})

test('a repetition without a complete time makes no pattern', () => {
  for (const time of ['', '9:00', '09:0']) assert.equal(toCron({ ...noRepetition, time }), undefined)
  assert.equal(toCron({ ...noRepetition, kind: 'cron', cron: '  ' }), undefined)
})

test('patterns are told in words', () => {
  assert.deepEqual(['*/15 * * * *', '*/7 * * * *', '*/0 * * * *'].map(describeCron), ['Every 15 minutes', '*/7 * * * *', '*/0 * * * *'])
  assert.deepEqual(['30 * * * *', '0 8 * * *', '0 8 * * 1-5', '5 9 * * 0', '0 0 1 * *', '0 0 L * *'].map(describeCron), [
    'Every hour, at minute 30',
    'Every day at 08:00',
    'Monday to Friday at 08:00',
    'Sundays at 09:05',
    'Day 1 of each month at 00:00',
    'The last day of each month at 00:00',
  ])
})
