import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { acceptChangedTool, listChangedToolsOf } from '../../src/configuration/mcp/changed-tools.ts'
import { serverKey } from '../../src/configuration/mcp/pin-store.ts'
import { createPinStore } from '../../src/store/configuration/tool-pins.ts'
import type { Database } from '../../src/store/database.ts'
import { storeContract } from './suites.ts'

storeContract('tool pins', registerToolPinContract)

function registerToolPinContract(database: () => Database): void {
  afterEach(() => database().all.unit((connection) => connection.execute('delete from tool_pins', []).then(() => undefined)))
  const definition = (hash: string) => ({ hash, description: hash, schema: { type: 'object' as const }, annotations: {}, at: '2026-11-22' })
  const server = serverKey({ url: 'https://tools.example/' })
  const config = { tools: [{ name: 's', type: 'mcp', config: { url: 'https://tools.example/' } }] }

  test('pins are stored once per revision, and only by the first of concurrent writers', async () => {
    const [store, other] = [createPinStore(database()), createPinStore(database())]
    const pins = { entry: 's', server, tools: { t: { accepted: definition('a') } } }
    assert.deepEqual({ pins: await store.find('s', server), revision: await store.revision('s', server) }, { pins: undefined, revision: 0 })
    assert.equal((await Promise.all([store.save(pins, 0), other.save(pins, 0)])).filter(Boolean).length, 1)
    assert.deepEqual(await other.find('s', server), { ...pins, revision: 1 })
    const next = { ...pins, tools: { t: { accepted: definition('a'), changed: definition('b') } } }
    assert.equal((await Promise.all([store.save(next, 1), other.save(next, 1)])).filter(Boolean).length, 1)
    assert.equal(await store.save(next, 0), false)
    assert.deepEqual(await store.list(), [{ ...next, revision: 2 }])
  })

  test('a change is accepted by its hash, and for the servers of the configuration alone', async () => {
    const store = createPinStore(database())
    const tools = { t: { accepted: definition('a'), changed: definition('b') } }
    await store.save({ entry: 's', server: 'former', tools }, 0)
    assert.deepEqual(await listChangedToolsOf(config, store), [])
    await assert.rejects(acceptChangedTool(config, store, { name: 's__t', expectedHash: undefined }), { code: 'not_found' })
    await store.save({ entry: 's', server, tools }, 0)
    assert.deepEqual(
      (await listChangedToolsOf(config, store)).map(({ name, changes }) => ({ name, changes })),
      [{ name: 's__t', changes: ['description changed'] }],
    )
    await assert.rejects(acceptChangedTool(config, store, { name: 's__t', expectedHash: 'c' }), { code: 'definition_changed' })
    const accepted = await acceptChangedTool(config, store, { name: 's__t', expectedHash: 'b' })
    assert.deepEqual(accepted, { name: 's__t', accepted: definition('b') })
    assert.deepEqual((await store.find('s', server))?.tools, { t: { accepted: definition('b') } })
    assert.deepEqual((await store.find('s', 'former'))?.tools, tools)
  })
}
