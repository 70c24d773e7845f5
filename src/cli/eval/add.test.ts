import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startService } from '../../../test/fixtures/service.ts'
import { callOf, fakeTool } from '../../../test/fixtures/tools.ts'
import { createFolder, runIn } from '../terminal-fixture.ts'

test('a run is added to a dataset that is created once, by the caller and for another caller', async (t) => {
  const script = [callOf('refund', { order: 9 }), { text: 'Refunded.' }]
  const tools = [fakeTool('refund', async () => ({ refunded: 9 }), { effect: 'write' })]
  const service = await startService(t, { script, tools })
  const folder = await createFolder(t)
  const boss = await service.as({ sub: 'boss', roles: ['admin'] })
  const { key } = await service.key({ sub: 'boss', roles: ['admin'] })
  const add = (...args: string[]) => runIn(folder, ['eval', 'add', ...args, '--url', service.url, '--key', key])
  await boss.chat('Refund order 9', { 'request-id': 'r1' })
  await service.client.chat('Refund it \u001B[2J', { 'request-id': 'r2' })

  const unknown = await add('r1', '--dataset', 'core')
  assert.deepEqual([unknown.code, unknown.out], [1, ''])
  assert.match(unknown.err, /^There is no dataset core\.\n"agent-core eval list" shows the datasets, and --create makes one/)
  const added = await add('r1', '--dataset', 'core', '--create')
  assert.match(added.out, /^Example \S+ "Refund order 9" was added\. Calls: 1, writes: 1\.\n$/, added.err)
  const foreign = await add('r2', '--dataset', 'core', '--create', '--sub', 'ann', '--issuer', 'agent-core', '--tag', 'a', 'b')
  assert.match(foreign.out, /^Example \S+ "Refund it \\u\{1b\}\[2J" was added\. Calls: 0, writes: 0\.\n$/, foreign.err)
  assert.match((await add('r1', '--dataset', 'core', '--name', 'Nine')).out, / "Nine" was /)
  const { body } = await boss.request('GET', '/core/v1/datasets/core/examples')
  const examples = body.examples.map(({ name, tags }: { name: string; tags: string[] }) => [name, tags])
  assert.deepEqual(examples, [
    ['Nine', []],
    ['Refund it \u001B[2J', ['a', 'b']],
    ['Refund order 9', []],
  ])
  const absent = await add('unknown', '--dataset', 'core')
  assert.match(absent.err, /^There is no run unknown\.\n.*--sub and --issuer/)
  assert.equal((await add('r1')).code, 2)
})
