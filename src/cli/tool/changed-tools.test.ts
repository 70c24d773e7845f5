import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { openEventsIn } from '../../../test/fixtures/audit-events.ts'
import { openDatabase } from '../../store/open.ts'
import { createPinStore } from '../../store/configuration/tool-pins.ts'
import { openPins } from '../../tools/mcp/pins.ts'
import { createFolder, runIn } from '../terminal-fixture.ts'

const tool = {
  name: 'moody',
  description: 'One.\nIt has two lines.',
  schema: { type: 'object' },
  check: () => undefined,
  readsOnly: true,
  listed: {} as never,
  hash: 'a1',
}

test('a changed tool of an MCP server is listed, and accepted by its name or the name of its entry', async (t) => {
  const folder = await createFolder(t)
  assert.deepEqual(await runIn(folder, ['tool', 'changed']), { code: 0, out: 'No tool has changed.\n', err: '' })
  const dataDir = path.join(folder, '.agent-core')
  const database = await openDatabase({ databaseUrl: undefined, databaseConnections: 1, dataDir })
  t.after(() => database.close())
  const server = { url: 'http://localhost/' }
  const pins = openPins({ store: createPinStore(database), cacheDir: path.join(dataDir, 'cache'), entry: 'weather', server })
  const changed = { ...tool, description: 'Two.', hash: 'b2' }
  await pins.review([tool])
  assert.equal((await pins.review([changed])).size, 1)
  const { code, out } = await runIn(folder, ['tool', 'changed'])
  assert.equal(code, 0)
  assert.match(
    out,
    /^weather__moody\n {2}accepted \(a1, seen .+Z\):\n {4}One\.\n {4}It has two lines\.\n {4}\{.+\n {2}now \(b2, seen .+\):\n {4}Two\.\n/,
  )
  const unknown = await runIn(folder, ['tool', 'accept', 'weather__other'])
  assert.deepEqual({ code: unknown.code, out: unknown.out }, { code: 1, out: '' })
  assert.match(unknown.err, /No tool of "weather__other" has changed\. "agent-core tool changed" lists/)
  assert.equal((await pins.review([changed])).size, 1)
  assert.deepEqual(await runIn(folder, ['tool', 'accept', 'weather__moody']), { code: 0, out: 'Accepted weather__moody.\n', err: '' })
  assert.equal(await pins.isModified(), true)
  assert.equal((await pins.review([changed])).size, 0)
  assert.equal((await pins.review([tool])).size, 1)
  assert.equal((await runIn(folder, ['tool', 'accept', 'weather'])).out, 'Accepted weather__moody.\n')
  const events = await (await openEventsIn(t, folder))()
  assert.deepEqual(
    events.map(({ tenant, action, target, actor: { via }, data }) => [tenant, action, target, via, data]),
    [
      ['default', 'tool.accepted', 'tool:weather__moody', 'cli', { from: 'a1', to: 'b2' }],
      ['default', 'tool.accepted', 'tool:weather__moody', 'cli', { from: 'b2', to: 'a1' }],
    ],
  )
})
