import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditEvent } from '../../src/audit/event.ts'
import { createNewId } from '../../src/service/new-id.ts'
import { createRecord } from '../../src/store/audit/record.ts'
import { query, type Database } from '../../src/store/database.ts'
import { storeContract } from './suites.ts'

storeContract('audit events', registerAuditContract)

const newId = createNewId()

function registerAuditContract(database: () => Database): void {
  const run = { owner: 'agent-core ann', requestId: newId() }
  const event = (changes: Partial<AuditEvent> = {}): AuditEvent => ({
    id: newId(),
    at: 1000,
    actor: { issuer: 'agent-core', sub: 'ann', via: 'run' },
    action: 'tool.started',
    target: 'tool:refund',
    outcome: 'success',
    run,
    data: { input_hash: 'ab' },
    salt: '00'.repeat(16),
    ...changes,
  })

  async function recorded(): Promise<AuditEvent> {
    const made = event()
    await database()
      .forTenant('acme')
      .unit((connection) => createRecord(database().db)(connection, 'acme', [made]))
    return made
  }

  const change = (sql: string, id: string) =>
    database()
      .forTenant('acme')
      .unit((connection) => connection.execute(`${sql} where tenant = 'acme' and id = '${id}'`, []))

  test('an event is stored with the act, and not without', async () => {
    const { db, forTenant } = database()
    const made = await recorded()
    const lost = event()
    const failing = forTenant('acme').unit(async (connection) => {
      await createRecord(db)(connection, 'acme', [lost])
      throw new Error('The act fails.')
    })
    await assert.rejects(failing, /The act fails/)
    const all = db.selectFrom('audit_events').select(['id', 'sub', 'request_id', 'seq']).where('tenant', '=', 'acme')
    const rows = (await query(forTenant('acme').read, all)).rows.flatMap((row) => ([made.id, lost.id].includes(row.id) ? [{ ...row }] : []))
    assert.deepEqual(rows, [{ id: made.id, sub: 'ann', request_id: run.requestId, seq: null }])
  })

  test('an event is sealed once and loses its salt, and nothing else changes', async () => {
    const { id } = await recorded()
    const seq = Math.floor(Math.random() * 1e12)
    await assert.rejects(change("update audit_events set target = 'tool:other'", id), /not changed/)
    await change(`update audit_events set seq = ${seq}, prev_hash = 'a', hash = 'b'`, id)
    await assert.rejects(change("update audit_events set hash = 'c'", id), /not changed/)
    await assert.rejects(change("update audit_events set salt = 'ff'", id), /not changed/)
    await change('update audit_events set salt = null', id)
    await assert.rejects(change("update audit_events set salt = 'ff'", id), /not changed/)
  })

  test('an event is removed only where a cut is signed behind it', async () => {
    const { id } = await recorded()
    await assert.rejects(change('delete from audit_events', id), /not removed/)
    const seq = Math.floor(Math.random() * 1e12)
    await change(`update audit_events set seq = ${seq}, prev_hash = 'a', hash = 'b'`, id)
    await assert.rejects(change('delete from audit_events', id), /not removed/)
    const { db, forTenant } = database()
    const cut = { tenant: 'acme', seq, kind: 'cut' as const, hash: 'b', at: 1, kid: 'k', jws: 'j' }
    await forTenant('acme').unit((connection) => query(connection, db.insertInto('audit_heads').values(cut)))
    assert.equal((await change('delete from audit_events', id)).changes, 1)
    await forTenant('acme').unit((connection) => query(connection, db.deleteFrom('audit_heads').where('tenant', '=', 'acme')))
  })
}
