import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { afterEach, test } from 'node:test'
import type { ConfigurationStore, NewConfiguration } from '../../src/configuration/configuration-store.ts'
import { ServiceError } from '../../src/errors.ts'
import { openConfigurationStore } from '../../src/store/configuration/configurations.ts'
import type { Database } from '../../src/store/database.ts'
import { createSecretBox } from '../../src/store/secrets/secret-box.ts'
import { reencryptAll } from '../../src/store/secrets/secrets.ts'
import { hour } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('configurations', registerConfigurationContract)

const [old, next] = ['o'.repeat(32), 'n'.repeat(32)]

function registerConfigurationContract(database: () => Database): void {
  const open = (...keys: string[]) =>
    openConfigurationStore(database(), { box: createSecretBox(keys.length > 0 ? keys : [old]), adminTenant: 't', now: () => hour })
  afterEach(() =>
    database().all.unit(async (connection) => {
      for (const table of ['configurations', 'configuration_texts', 'secrets', 'task_notifications'])
        await connection.execute(`delete from ${table}`, [])
    }),
  )

  test('newest returns nothing at first, then the last configuration', async () => {
    const store = await open()
    assert.deepEqual(
      {
        newest: await store.newest(),
        newestNumber: await store.newestNumber(),
        list: await store.list(),
        lastFromFile: await store.lastFromFile(),
      },
      { newest: undefined, newestNumber: 0, list: [], lastFromFile: undefined },
    )
    const first = made('a: 1', { kind: 'seed' })
    const second = made('a: 2', { used: { a: 3 }, actor: { tenant: 't', issuer: 'i', sub: 's' }, diff: ['a'] })
    assert.deepEqual([await store.add(first, 0), await store.add(second, 1)], [true, true])
    const { diff, actor, isAudited: _, ...stored } = second
    assert.deepEqual(await store.newest(), { ...stored, n: 2 })
    assert.equal(await store.newestNumber(), 2)
    assert.equal((await store.find(first.version))?.text, 'a: 1')
    assert.equal(await store.find('x'), undefined)
    assert.deepEqual(await store.list(), [
      { n: 2, version: second.version, kind: 'put', diff, actor, at: hour },
      { n: 1, version: first.version, kind: 'seed', diff: [], at: hour },
    ])
  })

  test('the event of a change with many paths has the first of them, and how many are left out', async () => {
    const store = await open()
    const diff = Array.from({ length: 4000 }, (_, index) => `tools[${index}].${'x'.repeat(90)}`)
    const change = made('a: 1', { diff, isAudited: true, actor: { tenant: 't', issuer: 'i', sub: 's' } })
    assert.equal(await store.add(change, 0), true)
    assert.deepEqual((await store.list())[0]!.diff, diff)
    const { db } = database()
    const events = db.selectFrom('audit_events').select('data').where('config_version', '=', change.version)
    const data = (await events.execute()).map((row) => JSON.parse(row.data!) as { diff: string[]; omitted: number })
    assert.deepEqual(
      data.map((event) => [event.diff, event.omitted]),
      [[diff.slice(0, 163), 3837]],
    )
  })

  test('of concurrent changes after the same configuration the first wins and the others change nothing', async () => {
    const stores = await Promise.all(Array.from({ length: 5 }, () => open()))
    const added = await Promise.all(stores.map((store, index) => store.add(made(`a: ${index}`), 0)))
    assert.equal(added.filter(Boolean).length, 1)
    const [store] = stores
    assert.equal((await store!.list()).length, 1)
    const seen = await Promise.all(stores.map((_, index) => store!.seenAt(`a: ${index}`)))
    assert.deepEqual(
      seen,
      added.map((isAdded) => (isAdded ? 1 : undefined)),
    )
  })

  test('texts of configurations and files are known by keyed ids that all processes share', async () => {
    const [store, other] = [await open(), await open()]
    await store.add(made('a: 1', { kind: 'seed' }), 0)
    await store.add(made('a: 2', { kind: 'edit', file: 'a: two' }), 1)
    await store.add(made('a: 3'), 2)
    assert.deepEqual(await Promise.all(['a: 1', 'a: 2', 'a: two', 'a: 3', 'a: 4'].map(other.seenAt)), [1, 2, 2, 3, undefined])
    assert.equal(await other.lastFromFile(), 'a: two')
    assert.equal(await other.findText(2, store.idOf('a: 2')), 'a: 2')
    assert.equal(await other.findText(2, store.idOf('a: two')), 'a: two')
    assert.deepEqual([await other.findText(3, store.idOf('a: 2')), await other.findText(9, store.idOf('a: 2'))], [undefined, undefined])
    // The same text again is known by its last.
    await store.add(made('a: 1'), 3)
    assert.equal(await store.seenAt('a: 1'), 4)
  })

  test('texts are unreadable in the database, and another SECRET_KEY does not open them', async () => {
    const store = await open()
    await store.add(made('api_key: sk-secret', { file: 'x: sk-secret', used: { api_key: 'sk-secret' } }), 0)
    for (const table of ['configurations', 'configuration_texts', 'secrets']) {
      assert.doesNotMatch(JSON.stringify((await database().all.read.execute(`select * from ${table}`, [])).rows), /sk-secret|api_key/)
    }
    await assert.rejects(open(next), /SECRET_KEY/)
  })

  test('texts encrypted with a former SECRET_KEY are encrypted again with the first one', async () => {
    await (await open(old)).add(made('a: 1', { kind: 'seed' }), 0)
    const before = await open(old)
    const both = await open(next, old)
    assert.equal((await both.newest())?.text, 'a: 1')
    assert.equal(await (await openAfter()).seenAt('a: 1'), 1)
    await assert.rejects(before.newest(), (error: unknown) => error instanceof ServiceError && /SECRET_KEY/.test(error.message))

    /** As a start does. */
    async function openAfter(): Promise<ConfigurationStore> {
      await reencryptAll(database(), createSecretBox([next, old]))
      return open(next)
    }
  })

  test('100 configurations and the last text of a file are kept; in-memory ones go when they are older', async () => {
    const store = await open()
    const seed = made('a: 0', { kind: 'seed' })
    await store.add(seed, 0)
    for (let n = 1; n <= 230; n++) await store.add(made(`a: ${n}`, n % 10 === 0 ? { kind: 'memory', used: { a: n } } : {}), n)
    const kept = await store.list()
    assert.deepEqual(
      { keptCount: kept.length, n: kept[0]?.n, version: kept.at(-1)?.version },
      { keptCount: 101, n: 230, version: seed.version },
    )
    assert.deepEqual(
      { lastFromFile: await store.lastFromFile(), kind: (await store.newest())?.kind },
      { lastFromFile: 'a: 0', kind: 'memory' },
    )
    const memory = (await store.page(1000)).filter(({ kind }) => kind === 'memory')
    assert.deepEqual(
      memory.map(({ n }) => n),
      [231, 221, 211, 201, 191, 181, 171, 161, 151, 141, 131],
    )
    assert.equal(await store.seenAt('a: 3'), 4)
    // Who has seen one of long ago does not take the number of one that is gone.
    assert.equal(await store.add(made('a: late'), 30), false)
    assert.equal(await store.seenAt('a: late'), undefined)
  })

  test('configurations of every kind are listed in pages, newest first', async () => {
    const store = await open()
    const actor = { tenant: 't', issuer: 'i', sub: 's' }
    const versions = [made('a: 0', { kind: 'seed' }), made('a: 1', { actor }), made('a: 1', { kind: 'memory', used: { a: 2 } })]
    for (const [n, version] of versions.entries()) await store.add(version, n)
    const numbers = async (limit: number, before?: number) => (await store.page(limit, before)).map(({ n }) => n)
    assert.deepEqual([await numbers(2), await numbers(2, 2), await numbers(2, 1)], [[3, 2], [1], []])
    assert.deepEqual((await store.page(1, 3))[0], { n: 2, version: versions[1]!.version, kind: 'put', diff: [], actor, at: hour })
  })

  test('a deleted in-memory change does not free its number for stale processes', async () => {
    const store = await open()
    await store.add(made('a: 1', { kind: 'seed' }), 0)
    await store.add(made('a: 1', { kind: 'memory', used: { a: 2 } }), 1)
    await store.add(made('a: 3'), 2)
    assert.deepEqual(
      { add: await store.add(made('a: late'), 1), newestNumber: await store.newestNumber() },
      { add: false, newestNumber: 3 },
    )
  })
}

function made(text: string, change: Partial<NewConfiguration> = {}): NewConfiguration {
  const version = randomUUID()
  return { version, storedVersion: version, kind: 'put', text, diff: [], isAudited: false, at: hour, ...change }
}
