import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createUnits } from './units.ts'
import type { Deferred } from '../database.ts'
import type { UnitConnection } from './deferred.ts'

function connect(database: DatabaseSync): UnitConnection {
  const pending: Deferred[] = []
  const rows = (sql: string, parameters: readonly unknown[]) => database.prepare(sql).all(...(parameters as SQLInputValue[])) as never
  return {
    execute: async (sql, parameters) => ({ rows: rows(sql, parameters), changes: 0 }),
    rows,
    change: (sql, parameters) => Number(database.prepare(sql).run(...(parameters as SQLInputValue[])).changes),
    defer: (changes) => void pending.push(changes),
    pending,
  }
}

/** A database with a table `t`, and what was executed on it besides. */
function setUp(sync?: () => Promise<void>) {
  const database = new DatabaseSync(':memory:')
  database.exec('create table t (x text primary key)')
  const executed: string[] = []
  const exec = database.exec.bind(database)
  database.exec = (sql) => {
    executed.push(sql)
    exec(sql)
  }
  const { unit, drained, durable } = createUnits(database, connect(database), sync ? { sync } : {})
  const insert = (x: string) => unit((on) => on.execute('insert into t values (?)', [x]))
  const rows = () =>
    database
      .prepare('select x from t order by x')
      .all()
      .map((row) => row.x as string)
  return { database, executed, unit, drained, durable, insert, rows, commits: () => executed.filter((sql) => sql === 'commit').length }
}

const reasons = (settled: PromiseSettledResult<unknown>[]) =>
  settled.map((one) => (one.status === 'rejected' ? (one.reason as Error).message : 'done'))

test('waiting units share one commit', async () => {
  const { insert, rows, commits } = setUp()
  await Promise.all(Array.from({ length: 200 }, (_, n) => insert(String(n))))
  assert.deepEqual({ rowCount: rows().length, commits: commits() }, { rowCount: 200, commits: 1 })
})

test('units that arrive during a commit form the next group', async () => {
  const { insert, commits, unit } = setUp()
  const later: Promise<unknown>[] = []
  await unit(async (on) => {
    for (let n = 0; n < 50; n += 1) later.push(insert(String(n)))
    return on.execute('select 1', [])
  })
  await Promise.all(later)
  assert.equal(commits(), 2)
})

test('units triggered by the results of a group share the next commit', async () => {
  const { insert, commits } = setUp()
  const chains = Array.from({ length: 20 }, async (_, n) => {
    for (let step = 0; step < 3; step += 1) await insert(`${n} ${step}`)
  })
  await Promise.all(chains)
  assert.equal(commits(), 3)
})

test('the event loop keeps running between groups', async () => {
  const { insert } = setUp()
  let isStopped = false
  setImmediate(() => setImmediate(() => (isStopped = true)))
  let groups = 0
  for (; !isStopped && groups < 1000; groups += 1) await insert(String(groups))
  assert.ok(groups < 10, `${groups} groups`)
})

test('a unit that throws rolls back only itself', async () => {
  const { insert, rows, unit, commits } = setUp()
  const failing = unit(async (on) => {
    await on.execute("insert into t values ('b')", [])
    throw new Error('no')
  })
  const settled = await Promise.allSettled([insert('a'), failing, insert('a'), insert('c')])
  assert.deepEqual(reasons(settled), ['done', 'no', 'UNIQUE constraint failed: t.x', 'done'])
  assert.deepEqual({ rows: rows(), commits: commits() }, { rows: ['a', 'c'], commits: 1 })
})

test('a unit learns of its commit before the disk has it, and settles afterwards', async () => {
  const durable = Promise.withResolvers<void>()
  const { unit, rows } = setUp(() => durable.promise)
  const order: string[] = []
  const committed = Promise.withResolvers<void>()
  const onCommitted = (x: string) => {
    order.push(`${x} committed, rows ${rows().join()}`)
    committed.resolve()
  }
  const settled = unit((on) => (on.change("insert into t values ('a')", []), 'a'), { onCommitted }).then(() => order.push('a durable'))
  await committed.promise
  await nextTurn()
  assert.deepEqual(order, ['a committed, rows a'])
  durable.resolve()
  await settled
  assert.deepEqual(order, ['a committed, rows a', 'a durable'])
})

test('a unit that is undone, or whose group is not committed, does not learn of a commit', async () => {
  const { unit, insert, rows } = setUp()
  const onCommitted = () => assert.fail()
  const failing = unit((on) => on.change("insert into t values ('b'), ('b')", []), { onCommitted })
  await Promise.allSettled([insert('a'), failing])
  assert.deepEqual(rows(), ['a'])
})

test('no unit settles before the commit', async () => {
  const { executed, insert } = setUp()
  const order: string[] = []
  const told = (name: string) => () => void order.push(`${name} after ${executed.at(-1)}`)
  await Promise.all([insert('a').then(told('a')), insert('b').then(told('b')), insert('a').catch(told('refused'))])
  assert.deepEqual(order, ['a after commit', 'b after commit', 'refused after commit'])
})

test('a failed commit rejects every unit of its group, and the next group works', async () => {
  const { database, insert, rows, unit } = setUp()
  database.exec('pragma foreign_keys = on; create table child (x text references t deferrable initially deferred)')
  const orphan = unit((on) => on.execute("insert into child values ('nobody')", []))
  const reason = 'FOREIGN KEY constraint failed'
  assert.deepEqual(reasons(await Promise.allSettled([insert('a'), orphan, insert('b')])), [reason, reason, reason])
  await insert('c')
  assert.deepEqual(rows(), ['c'])
})

test('units settle when their commit is synced, and units that arrive meanwhile share the next sync', async () => {
  const syncs: PromiseWithResolvers<void>[] = []
  const { insert, rows, durable } = setUp(() => {
    const sync = Promise.withResolvers<void>()
    syncs.push(sync)
    return sync.promise
  })
  const settled: string[] = []
  const first = Promise.all(['a', 'b'].map((x) => insert(x).then(() => settled.push(x))))
  while (syncs.length === 0) await nextTurn()
  assert.deepEqual({ rows: rows(), settled, isDurable: durable() === undefined }, { rows: ['a', 'b'], settled: [], isDurable: false })
  const second = Promise.all(['c', 'd'].map((x) => insert(x).then(() => settled.push(x))))
  await nextTurn()
  syncs[0]!.resolve()
  await first
  assert.deepEqual(settled, ['a', 'b'])
  while (syncs.length === 1) await nextTurn()
  syncs[1]!.resolve()
  await second
  assert.deepEqual({ syncs: syncs.length, isDurable: durable() === undefined }, { syncs: 2, isDurable: true })
})

test('a failed sync rejects every unit of its group', async () => {
  const { insert } = setUp(() => Promise.reject(new Error('disk')))
  assert.deepEqual(reasons(await Promise.allSettled([insert('a'), insert('b')])), ['disk', 'disk'])
})

test('a group of repeatable units settles without a sync, and a read of its changes waits for a sync', async () => {
  let syncs = 0
  let fault: Error | undefined
  const sync = async () => {
    syncs++
    if (fault) throw fault
  }
  const { unit, durable, insert } = setUp(sync)
  const insertRepeatable = (x: string) => unit((on) => on.execute('insert into t values (?)', [x]), { isRepeatable: true })
  await insertRepeatable('1')
  assert.equal(syncs, 0)
  fault = new Error('The disk has failed.')
  await assert.rejects(durable()!, fault)
  fault = undefined
  await durable()
  assert.deepEqual({ syncs, isDurable: durable() === undefined }, { syncs: 2, isDurable: true })
  await Promise.all([insertRepeatable('2'), insert('3')])
  assert.deepEqual({ syncs, isDurable: durable() === undefined }, { syncs: 3, isDurable: true })
})

test('every unit of the group is rejected when SQLite ends the transaction', async () => {
  const { insert, rows, unit } = setUp()
  const ending = unit(async (on) => {
    await on.execute('rollback', [])
    throw new Error('ended')
  })
  assert.deepEqual(reasons(await Promise.allSettled([insert('a'), ending, insert('b')])), ['ended', 'ended', 'ended'])
  await insert('c')
  assert.deepEqual(rows(), ['c'])
})

test('on a full disk no unit resolves that is not stored', async () => {
  const { database, rows, unit, insert } = setUp()
  database.exec('pragma max_page_count = 20')
  const big = (x: string) => unit((on) => on.execute('insert into t values (?)', [x.padEnd(20_000, '.')]), { retryForMs: 0 })
  const settled = await Promise.allSettled(['a', 'b', 'c', 'd', 'e', 'f'].map(big))
  const kept = settled.flatMap((one, n) => (one.status === 'fulfilled' ? ['abcdef'[n]!] : []))
  assert.ok(kept.length < 6)
  assert.deepEqual(
    rows().map((x) => x[0]),
    kept,
  )
  database.exec('pragma max_page_count = 1000')
  await insert('later')
  assert.ok(rows().includes('later'))
})

test('units that a full disk refuses are tried again, each alone, and are stored once', async () => {
  const { database, rows, unit, insert, drained } = setUp()
  database.exec('pragma max_page_count = 20')
  let tries = 0
  const big = unit((on) => {
    tries++
    return on.execute('insert into t values (?)', ['a'.padEnd(200_000, '.')])
  })
  const small = insert('b')
  await small
  assert.deepEqual(rows(), ['b'])
  database.exec('pragma max_page_count = 1000')
  await drained()
  await big
  assert.deepEqual({ rows: rows().map((x) => x[0]), isRetried: tries > 1 }, { rows: ['a', 'b'], isRetried: true })
})

test('drained waits for all units, including those added meanwhile', async () => {
  const { insert, drained, rows } = setUp()
  const first = insert('a').then(() => insert('b'))
  await drained()
  await first
  assert.deepEqual(rows(), ['a', 'b'])
})

test('a closed database rejects each unit', async () => {
  const { database, insert } = setUp()
  database.close()
  assert.deepEqual(reasons(await Promise.allSettled([insert('a'), insert('b')])), ['database is not open', 'database is not open'])
  await assert.rejects(insert('c'), /not open/)
})

test('while another process writes the event loop keeps running, and units succeed afterwards or are rejected after the limit', async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'agent-core-units-'))
  const [ours, other] = [0, 1].map(() => new DatabaseSync(path.join(folder, 'x.db'), { timeout: 0 })) as [DatabaseSync, DatabaseSync]
  t.after(() => {
    ours.close()
    other.close()
    rmSync(folder, { recursive: true })
  })
  ours.exec('create table t (x text primary key)')
  const insert = (limitMs: number, x: string) =>
    createUnits(ours, connect(ours), { limitMs }).unit((on) => on.execute(`insert into t values ('${x}')`, []))
  other.exec('begin immediate')
  await assert.rejects(insert(5, 'a'), /Another process holds the database/)
  let isDone = false
  const unit = insert(5000, 'b').then(() => (isDone = true))
  for (let turns = 0; turns < 50; turns += 1) await nextTurn()
  assert.equal(isDone, false)
  other.exec('rollback')
  await unit
  assert.deepEqual(
    ours
      .prepare('select x from t')
      .all()
      .map(({ x }) => x),
    ['b'],
  )
})
