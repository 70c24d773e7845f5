import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contextOf } from '../agent/react-fixture.ts'
import { createCurrentTime } from './current-time.ts'

const at = Date.UTC(2026, 6, 14, 22, 30, 5)
const spec = { name: 'current_time', timeoutMs: 30_000, maxOutputCharacters: 20_000, config: {} }
const { tool } = createCurrentTime(spec, undefined, () => at)
const context = contextOf()

test('the time is in UTC unless a time zone is given', async () => {
  const expected = { time: '2026-07-14T22:30:05+00:00', timezone: 'UTC', weekday: 'Tuesday', date: '2026-07-14' }
  assert.deepEqual(await tool.execute({}, context), expected)
})

test('a time zone moves the clock, the date and the weekday', async () => {
  const expected = { time: '2026-07-15T04:00:05+05:30', timezone: 'Asia/Calcutta', weekday: 'Wednesday', date: '2026-07-15' }
  const output = (await tool.execute({ timezone: 'asia/kolkata' }, context)) as typeof expected
  assert.deepEqual({ ...output, timezone: expected.timezone }, expected)
  assert.equal(((await tool.execute({ timezone: 'America/New_York' }, context)) as typeof expected).time, '2026-07-14T18:30:05-04:00')
  assert.equal(((await tool.execute({ timezone: '+02:00' }, context)) as typeof expected).time, '2026-07-15T00:30:05+02:00')
})

test('an unknown time zone is rejected with an explanation', async () => {
  await assert.rejects(tool.execute({ timezone: 'Europe/Atlantis' }, context), /There is no time zone "Europe\/Atlantis"/)
})
