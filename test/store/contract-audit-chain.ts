import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { signHead } from '../../src/audit/heads.ts'
import { LedgerBroken } from '../../src/audit/verify.ts'
import type { Database } from '../../src/store/database.ts'
import { createRetentionStore } from '../../src/store/sessions/retention.ts'
import { createExecutionStore } from '../../src/store/runs/executions.ts'
import { createSessionStore } from '../../src/store/sessions/sessions.ts'
import { endOf, hour, storeOf } from './fixture.ts'
import { startLedger, type TestLedger } from '../fixtures/ledger.ts'
import { storeContract } from './suites.ts'

storeContract('the chain of audit events', registerChainContract)

/** The sentence about a broken ledger. */
async function faultOf(check: Promise<unknown>): Promise<string> {
  const error = await check.then(
    () => undefined,
    (error: unknown) => error,
  )
  assert.ok(error instanceof LedgerBroken, String(error))
  return error.message
}

/** A ledger of 10 events, with a signed head at the eighth. */
async function tenEvents(database: Database): Promise<TestLedger> {
  const ledger = await startLedger(database)
  await ledger.record(Array.from({ length: 8 }, () => ledger.event()))
  await ledger.seal()
  const { hash } = (await ledger.check())[0]!
  await ledger.sign({ seq: 8, hash })
  await ledger.record([ledger.event(), ledger.event()])
  await ledger.seal()
  return ledger
}

function registerChainContract(database: () => Database): void {
  test('events are numbered in the order of their inserts, whatever their ids and times are', async () => {
    const { event, record, seal, state, lines, check, tenant } = await startLedger(database())
    const [first, second] = [event({ target: 'tool:second' }), event({ target: 'tool:first' })]
    await record([second])
    state.now -= 3_600_000
    await record([first, { ...event(), at: state.now, target: 'tool:third' }])
    assert.deepEqual(await seal(2), { count: 2 })
    assert.deepEqual(await seal(2), { count: 1 })
    assert.deepEqual(await seal(2), { count: 0 })
    const events = (await lines()).map((line) => JSON.parse(line) as { seq: number; target: string })
    assert.deepEqual(
      events.map(({ seq, target }) => [seq, target]),
      [
        [1, 'tool:first'],
        [2, 'tool:second'],
        [3, 'tool:third'],
      ],
    )
    const [{ count, from, to, signedTo }] = (await check()) as [Awaited<ReturnType<typeof check>>[0]]
    assert.deepEqual({ count, from, to, signedTo }, { count: 3, from: 1, to: 3, signedTo: 0 })
    assert.equal(JSON.parse((await lines())[0]!).tenant, tenant)
  })

  test('a head is due after 1,000 events, and after an hour', async () => {
    const { event, record, seal, state, store, tenant, sign } = await startLedger(database())
    const isDue = async () => (await store.unsigned({ now: state.now })).find((end) => end.tenant === tenant)
    await record([event()])
    assert.equal((await seal())!.due, undefined)
    state.now += 3_599_000
    await record([event()])
    await seal()
    assert.equal(await isDue(), undefined)
    state.now += 1000
    const end = await isDue()
    assert.equal(end?.seq, 2)
    await sign(end)
    assert.equal(await isDue(), undefined)
    for (const length of [500, 499]) await record(Array.from({ length }, () => event()))
    assert.equal((await seal())!.due, undefined)
    await record([event()])
    assert.equal((await seal())!.due!.seq, 1002)
  })

  test('events that are sealed by several at once have no gap and no fork', async () => {
    const { event, record, seal, check } = await startLedger(database())
    for (let round = 0; round < 5; round++) {
      const writers = Array.from({ length: 6 }, () => record([event(), event()]))
      await Promise.all([...writers, ...Array.from({ length: 6 }, () => seal(5))])
    }
    while ((await seal())?.count !== 0);
    assert.equal((await check())[0]!.count, 60)
  })

  const changes: [name: string, statements: string[], fault: RegExp][] = [
    [
      'a changed event',
      ["update audit_events set target = 'tool:other' where tenant = :tenant and seq = 4"],
      /^seq 4: hash does not match$/,
    ],
    ['a changed time', ['update audit_events set at = at + 1 where tenant = :tenant and seq = 9'], /^seq 9: hash does not match$/],
    ['a removed event', ['delete from audit_events where tenant = :tenant and seq = 4'], /^seq 4: missing: seq 5 follows$/],
    [
      'a removed first event',
      ['delete from audit_events where tenant = :tenant and seq = 1'],
      /^seq 1: missing: the ledger begins at seq 2/,
    ],
    [
      'an inserted event',
      [
        'update audit_events set seq = -seq where tenant = :tenant and seq > 4',
        'update audit_events set seq = 1 - seq where tenant = :tenant and seq < 0',
        insertCopy(4, 5),
      ],
      /^seq 5: hash does not match$/,
    ],
    ['an event behind the last', [insertCopy(10, 11)], /^seq 11: /],
    [
      'two exchanged events',
      [
        'update audit_events set seq = -4 where tenant = :tenant and seq = 4',
        'update audit_events set seq = 4 where tenant = :tenant and seq = 5',
        'update audit_events set seq = 5 where tenant = :tenant and seq = -4',
      ],
      /^seq 4: hash does not match$/,
    ],
    [
      'a tail that was cut off',
      ['delete from audit_events where tenant = :tenant and seq > 8'],
      /^seq 9: missing: the service has sealed up to seq 10$/,
    ],
    [
      'a tail that was cut off before a stored head',
      ['delete from audit_events where tenant = :tenant and seq > 6', 'delete from audit_chains where tenant = :tenant'],
      /^seq 7: missing: a head was signed at seq 8, and the last event before is seq 6$/,
    ],
    [
      'a changed end',
      ["update audit_chains set mac = 'ab' where tenant = :tenant"],
      /^seq 10: the stored end of the chain is not of the service/,
    ],
  ]
  /** Without a server of its own, the suite has no connection as the owner. */
  function testAsOwner(title: string, run: () => Promise<void>): void {
    test(title, (t) => (database().isShared && !database().postgres ? t.skip('no owner') : run()))
  }

  for (const [name, statements, fault] of changes)
    testAsOwner(`the owner of the database makes ${name}, and the check finds it`, async () => {
      const { asOwner, check } = await tenEvents(database())
      assert.equal((await check())[0]!.to, 10)
      await asOwner(...statements)
      assert.match(await faultOf(check()), fault)
    })

  testAsOwner('the end of a ledger, set back with all that is stored beside it, is found by a head that lies elsewhere', async () => {
    const { asOwner, check, event, record, seal, sign, tenant } = await tenEvents(database())
    const { db } = database()
    const before = await db.selectFrom('audit_chains').selectAll().where('tenant', '=', tenant).executeTakeFirstOrThrow()
    await record([event()])
    await seal()
    const sent = await sign({ seq: 11, hash: (await check())[0]!.hash })
    const { seq, hash, mac } = before
    await asOwner(
      'delete from audit_events where tenant = :tenant and seq > 10',
      'delete from audit_heads where tenant = :tenant and seq > 10',
      `update audit_chains set seq = ${seq}, hash = '${hash}', mac = '${mac}' where tenant = :tenant`,
    )
    assert.equal((await check())[0]!.to, 10)
    assert.match(
      await faultOf(check([sent])),
      /^seq 11: missing: the given head is of seq 11, and the ledger ends at seq 10: its end was cut off$/,
    )
    await record([event()])
    await seal()
    assert.equal((await check())[0]!.to, 11)
    assert.match(await faultOf(check([sent])), /^seq 11: the given head does not fit: its hash is another$/)
  })

  testAsOwner('the service does not seal again what another program has unsealed: a number stays free', async () => {
    const { asOwner, check, seal, record, event } = await tenEvents(database())
    await asOwner('update audit_events set seq = null, prev_hash = null, hash = null, salt = null where tenant = :tenant and seq > 7')
    await record([event()])
    const fault = /the last event is seq 7: another program changed the ledger/
    assert.match((await seal())!.fault ?? '', fault)
    assert.match(await faultOf(check()), /^seq 8: missing: a head was signed at seq 8, and the last event before is seq 7$/)
    assert.equal((await seal())!.fault, undefined)
  })

  testAsOwner('a ledger that another program had the service seal anew is whole, and its heads are later than its events', async () => {
    const { asOwner, check, event, record, seal, sign, state } = await tenEvents(database())
    const sent = await sign({ seq: 10, hash: (await check())[0]!.hash })
    assert.equal((await check())[0]!.late, undefined)
    state.now += 50 * 3_600_000
    await asOwner(
      "update audit_events set seq = null, prev_hash = null, hash = null, target = 'tool:other' where tenant = :tenant",
      'delete from audit_heads where tenant = :tenant',
      'delete from audit_chains where tenant = :tenant',
    )
    await record([event()])
    assert.equal((await seal())!.fault, undefined)
    assert.equal((await check())[0]!.late, undefined, 'nothing is signed')
    await sign({ seq: 11, hash: (await check())[0]!.hash })
    assert.deepEqual((await check())[0]!.late, { from: 1, to: 11, ms: 50 * 3_600_000 })
    assert.match(await faultOf(check([sent])), /^seq 10: the given head does not fit: its hash is another$/)
  })

  testAsOwner('an event with an earlier time, which another program has left to the service to seal, is signed late', async () => {
    const { asOwner, check, event, record, seal, sign, state } = await tenEvents(database())
    await record([event({ target: 'tool:forged' })])
    await asOwner("update audit_events set at = 0 where tenant = :tenant and target = 'tool:forged'")
    await seal()
    await sign({ seq: 11, hash: (await check())[0]!.hash })
    assert.deepEqual((await check())[0]!.late, { from: 9, to: 11, ms: state.now })
  })

  testAsOwner('a head of another key, a replayed head and a cut that is none are found', async () => {
    const { asOwner, check, tenant } = await tenEvents(database())
    const foreign = await startLedger(database())
    const { db } = database()
    const [stored] = await db.selectFrom('audit_heads').selectAll().where('tenant', '=', tenant).execute()
    const { jws } = await foreign.sign({ tenant, seq: 8, hash: stored!.hash, at: new Date(stored!.at).toISOString() })
    await asOwner(`update audit_heads set jws = '${jws}' where tenant = :tenant`)
    assert.match(await faultOf(check()), /^seq 8: the signed head: the signature is of a key that is not known/)
    await asOwner(`update audit_heads set jws = '${stored!.jws}', seq = 9 where tenant = :tenant`)
    assert.match(await faultOf(check()), /^seq 9: the signed head: the signature is of another head$/)
    await asOwner(
      "update audit_heads set seq = 8, kind = 'cut' where tenant = :tenant",
      'delete from audit_events where tenant = :tenant and seq <= 8',
    )
    assert.match(await faultOf(check()), /^seq 8: the signed cut: the signature is not one of a head$/)
  })

  test('retention removes old events up to a signed head, and the check goes on from there', async () => {
    const { check, event, keys, lines, record, seal, sign, state, tenant } = await tenEvents(database())
    const faults: string[] = []
    const cuts = { keys: keys(), now: () => state.now, onBroken: (_: string, fault: string) => void faults.push(fault) }
    const store = createRetentionStore(database(), cuts)
    const remove = (before: number, limit = 100) => store.remove('audit', tenant, before, { limit, now: state.now })
    const sent = await sign({ seq: 10, hash: (await check())[0]!.hash })
    const end = state.now + 1
    state.now += 1000
    await record([event()])
    await seal()
    assert.equal(await remove(end - 1), 0)
    assert.equal(await store.count('audit', tenant, end, 0), 10)
    assert.equal(await hasTenant(store.tenants('audit', end), tenant), true)
    assert.deepEqual([await remove(end, 5), (await check())[0]!.from], [5, 9])
    assert.deepEqual([await remove(end), await remove(end), await remove(end), await remove(Infinity)], [3, 2, 0, 0])
    const { count, from, to, before } = (await check([sent]))[0]!
    assert.deepEqual({ count, from, to, before, faults }, { count: 1, from: 11, to: 11, before: [], faults: [] })
    assert.deepEqual(
      (await lines()).map((line) => (JSON.parse(line) as { type: string; seq: number }).type),
      ['cut', 'event'],
    )
    await assert.rejects(
      database()
        .forTenant(tenant)
        .unit((connection) => connection.execute(`delete from audit_events where tenant = '${tenant}'`, [])),
      /not removed/,
    )
  })

  testAsOwner('retention keeps what another program has changed', async () => {
    const { asOwner, keys, state, tenant } = await tenEvents(database())
    const faults: string[] = []
    const store = createRetentionStore(database(), { keys: keys(), now: () => state.now, onBroken: (_, fault) => void faults.push(fault) })
    await asOwner('update audit_events set at = 0 where tenant = :tenant and seq = 3')
    assert.equal(await store.remove('audit', tenant, state.now + 1, { limit: 100, now: state.now }), 0)
    assert.deepEqual(faults, ['seq 3: hash does not match'])
  })

  testAsOwner('a front that was cut off with the head of an earlier cut, or of another tenant, is found', async () => {
    const { asOwner, check, keys, state, tenant } = await tenEvents(database())
    const other = await tenEvents(database())
    const foreign = { ...(await check())[0]!, jws: '' }
    const cut = await signHead(
      { tenant: other.tenant, kind: 'cut', seq: 8, hash: foreign.hash, at: new Date(state.now).toISOString() },
      keys(),
    )
    await asOwner(
      'delete from audit_events where tenant = :tenant and seq <= 8',
      'delete from audit_heads where tenant = :tenant',
      `insert into audit_heads (tenant, seq, kind, hash, at, kid, jws) values (:tenant, 8, 'cut', '${cut.hash}', ${state.now}, '${cut.kid}', '${cut.jws}')`,
    )
    assert.match(await faultOf(check()), /^seq 8: the signed cut: the signature is of another head$/)
    await asOwner(`update audit_heads set kind = 'head' where tenant = '${tenant}'`)
    assert.match(await faultOf(check()), /^seq 1: missing: a head was signed at seq 8, and the last event before is seq 0$/)
  })

  test('what deletes a run deletes the salts of its events, also of those that are stored at the same time', async () => {
    const { newRun, start, store, tenant } = storeOf(database())
    const { check, event, record, seal } = await startLedger(database(), tenant)
    const { db } = database()
    const [ended, kept, aged] = [
      await start({ sessionId: 'deleted' }),
      await start({ sessionId: 'kept' }),
      await start({ sessionId: 'aged' }),
    ]
    for (const { run, turn } of [ended, kept, aged])
      await store.finish(run, 1, endOf(turn, { endedAt: hour + (run === aged.run ? 50 : 100) }))
    const executed = newRun({ sessionId: 'deleted' })
    await createExecutionStore(database()).begin(executed)
    const runs = { ended: ended.run, kept: kept.run, aged: aged.run, executed }
    await record(Object.entries(runs).map(([target, { owner, requestId }]) => event({ run: { owner, requestId }, target })))
    await seal()
    const remove = { jobId: randomUUID(), now: hour + 9 }
    assert.equal(await createSessionStore(database()).remove({ tenant, owner: 'agent-core ann' }, 'deleted', remove), true)
    await createRetentionStore(database()).remove('runs', tenant, hour + 60, { limit: 9, now: hour + 9 })
    await record([event({ run: ended.run, target: 'late' })])
    await seal()
    const salted = await db.selectFrom('audit_events').select(['target', 'salt']).where('tenant', '=', tenant).orderBy('seq').execute()
    assert.deepEqual(
      salted.flatMap(({ target, salt }) => (salt === null ? [] : [target])),
      ['kept'],
    )
    assert.equal((await check())[0]!.to, 6, 'the execution that the removal cut off has a tool.unknown')
  })

  test('heads of former keys count as long as the ledger lasts', async () => {
    const { check, rotate, state, record, event, seal } = await tenEvents(database())
    for (const endNow of [false, false, true]) {
      await rotate(endNow)
      assert.equal((await check())[0]!.signedTo, 8)
      state.now += 40 * 24 * 3_600_000
    }
    await record([event()])
    assert.equal((await seal())!.fault, undefined)
    assert.equal((await check())[0]!.to, 11)
  })
}

/** A statement that inserts a copy of event `from` as number `to`, behind the event before. */
function insertCopy(from: number, to: number): string {
  const kept = 'tenant, at, issuer, sub, jti, via, action, target, outcome, owner, request_id, config_version, data, salt'
  return `insert into audit_events (${kept}, id, seq, prev_hash, hash) select ${kept}, 'copy of ${from}', ${to}, hash, hash
    from audit_events where tenant = :tenant and seq = ${from}`
}

async function hasTenant(tenants: AsyncIterable<string>, wanted: string): Promise<boolean> {
  for await (const tenant of tenants) if (tenant === wanted) return true
  return false
}
