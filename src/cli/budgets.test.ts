import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../../test/fixtures/service.ts'
import { createFolder, runIn } from './terminal-fixture.ts'

const budgets = [
  { name: 'caller-day', scope: 'caller', window: 'day', limit: { usd: 0.5, tokens: 4000 } },
  { name: 'run', scope: 'run', limit: { usd: 1 } },
]

test('budgets are listed as a table, overridden until the end of their window, and restored', async (t) => {
  const script = { text: 'Four.', usage: { input: 100, output: 300 } }
  const service = await startService(t, { script, modelFields: { prices: { input: 0.001, output: 0.003 } }, config: { budgets } })
  const folder = await createFolder(t)
  const { key } = await service.key({ sub: 'boss', roles: ['admin'] })
  const run = (...args: string[]) => runIn(folder, ['budgets', ...args, '--url', service.url, '--key', key])
  await service.client.chat('2 + 2?', { 'request-id': 'r1' })
  const listed = await run('list')
  assert.equal(listed.code, 0, listed.err)
  const [head, own, ann, ofRun, ...rest] = listed.out.trimEnd().split('\n')
  const cells = (line = '') => line.split(/ {2,}/)
  assert.deepEqual(cells(head), ['budget', 'scope', 'subject', 'limit', 'spent', 'reserved', 'remaining', 'resets', 'override until'])
  const [, , , , , , , end] = cells(own)
  assert.match(end!, /^\d{4}-\d\d-\d\dT00:00:00\.000Z$/)
  const limit = '0.5 USD, 4000 tokens'
  assert.deepEqual(cells(own), ['caller-day', 'caller', 'agent-core boss', limit, '0 USD, 0 tokens', '0 USD, 0 tokens', limit, end, '-'])
  assert.deepEqual(cells(ann).slice(2, 7), [
    'agent-core ann',
    limit,
    '0.000001 USD, 400 tokens',
    '0 USD, 0 tokens',
    '0.499999 USD, 3600 tokens',
  ])
  assert.deepEqual(cells(ofRun), ['run', 'run', 'r1', '1 USD', '0.000001 USD', '0 USD', '0.999999 USD', '-', '-'])
  assert.deepEqual(rest, [])
  assert.equal((await run('list', '--scope', 'run', '--request', 'r1')).out.split('\n').length, 3)

  const subject = ['--subject', 'agent-core ann']
  const raised = await run('override', 'caller-day', '--usd', '2', ...subject)
  assert.deepEqual(raised, { code: 0, out: `The limit of caller-day for agent-core ann is 2 USD, 4000 tokens until ${end}.\n`, err: '' })
  const cleared = await run('clear', 'caller-day', ...subject)
  assert.deepEqual(cleared, { code: 0, out: `The limit of caller-day for agent-core ann is ${limit}.\n`, err: '' })
  const until = '2099-01-01T00:00:00Z'
  const tooLong = await run('override', 'caller-day', '--tokens', '9000', '--until', until)
  assert.deepEqual([tooLong.code, tooLong.out], [1, ''])
  assert.match(tooLong.err, /^until: must be at most the end of the window, /)
  const unknown = await run('override', 'nothing', '--usd', '1', '--until', until)
  assert.deepEqual(unknown, { code: 1, out: '', err: 'There is no budget nothing.\n' })
})

test('wrong usage exits with status 2, and a command without a service says so', async (t) => {
  const folder = await createFolder(t)
  const wrong = [
    ['budgets', 'override', 'x'],
    ['budgets', 'override', 'x', '--usd', '-1'],
    ['budgets', 'override', 'x', '--tokens', '1.5'],
    ['budgets', 'list', '--scope', 'all'],
  ]
  for (const args of wrong) {
    const { code, out, err } = await runIn(folder, args)
    assert.deepEqual([code, out], [2, ''], args.join(' '))
    assert.match(err, /^error: /)
  }
  const away = await runIn(folder, ['budgets', 'list'])
  assert.equal(away.code, 1)
  assert.match(away.err, /No service of DATA_DIR is running/)
})
