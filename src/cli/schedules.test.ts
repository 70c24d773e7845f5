import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../../test/fixtures/service.ts'
import { createFolder, runIn } from './terminal-fixture.ts'

test('a schedule is created once, listed, triggered, paused, resumed and deleted', async (t) => {
  const service = await startService(t, { script: { text: 'Four.' } })
  const folder = await createFolder(t)
  const { key } = await service.key({ sub: 'ann' })
  const run = (...args: string[]) => runIn(folder, ['schedules', ...args, '--url', service.url, '--key', key])
  const times = ['--cron', '0 8 * * 1-5', '--timezone', 'Europe/Berlin']
  const create = () => run('create', '--message', 'Sales?', ...times, '--name', 'Morning', '--overlap', 'queue', '--request-id', 'c1')
  const created = await create()
  const [, id = ''] = /^Schedule (\S+) "Morning" is active, next at \d{4}-\d\d-\d\dT0[67]:00:00Z\.\n$/.exec(created.out) ?? []
  assert.notEqual(id, '', created.err)
  assert.deepEqual(await create(), created)
  const { body } = await service.client.request('GET', `/core/v1/schedules/${id}`)
  assert.deepEqual([body.overlap, body.request], ['queue', { messages: [{ role: 'user', content: 'Sales?' }] }])

  const triggered = await run('trigger', id)
  assert.match(triggered.out, new RegExp(`^Schedule ${id}: started, run schedule:${id}:\\d+\\.\\n$`))
  assert.deepEqual(await run('pause', id, '--reason', 'Holidays\u001b[2J'), {
    code: 0,
    out: `Schedule ${id} "Morning" is paused (Holidays[2J).\n`,
    err: '',
  })
  const [head, row, ...rest] = (await run('list')).out.trimEnd().split('\n')
  const cells = (line = '') => line.split(/ {2,}/)
  assert.deepEqual(cells(head), ['id', 'name', 'when', 'status', 'next', 'last'])
  assert.deepEqual(cells(row).slice(0, 4), [id, 'Morning', '0 8 * * 1-5 Europe/Berlin', 'paused (Holidays[2J)'])
  assert.deepEqual(rest, [])
  assert.match((await run('resume', id)).out, /is active, next at /)
  assert.deepEqual(await run('delete', id), { code: 0, out: `Schedule ${id} "Morning" is ended.\n`, err: '' })
  assert.deepEqual(await run('pause', 'unknown'), { code: 1, out: '', err: 'There is no schedule unknown.\n' })
})

test('a fault of the times is told with its field, and wrong usage exits with status 2', async (t) => {
  const service = await startService(t, { script: { text: 'Four.' } })
  const folder = await createFolder(t)
  const { key } = await service.key({ sub: 'ann' })
  const create = (...args: string[]) =>
    runIn(folder, ['schedules', 'create', '--message', 'Go.', ...args, '--url', service.url, '--key', key])
  const { code, out, err } = await create('--cron', '0 0 30 2 *')
  assert.deepEqual([code, out], [1, ''])
  assert.match(err, /timezone: is required with `cron`/)
  const { out: once } = await create('--at', '2099-01-01T00:00:00Z', '--session', 'same')
  assert.match(once, /is active, next at 2099-01-01T00:00:00Z\.\n$/)
  for (const args of [
    ['--overlap', 'never'],
    ['--jitter', '1.5'],
  ])
    assert.equal((await create(...args)).code, 2)
  assert.equal((await runIn(folder, ['schedules', 'create'])).code, 2)
})
