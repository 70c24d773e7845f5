import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditEvent } from '../../src/audit/event.ts'
import type { AuditPage } from '../../src/audit/reader.ts'
import { createNewId } from '../../src/service/new-id.ts'
import { createAuditReader } from '../../src/store/audit/list.ts'
import { createRecord } from '../../src/store/audit/record.ts'
import { query, type Database } from '../../src/store/database.ts'
import { storeContract } from './suites.ts'

storeContract('lists of audit events', registerListContract)

const start = Date.parse('2026-11-28T08:00:00Z')
const run = { owner: 'agent-core ann', requestId: 'r1' }

/** Event `n` of a tenant: an act each second. Each tenth is a change of the configuration, all others belong to a run. */
function eventAt(n: number, changes: Partial<AuditEvent> = {}): AuditEvent {
  const at = start + n * 1000
  const rare = n % 10 === 0
  return {
    id: createNewId(() => at)(),
    at,
    actor: rare ? { issuer: 'agent-core', sub: 'root', jti: 'key-1', via: 'api' } : { issuer: 'idp', sub: 'ann', via: 'run' },
    action: rare ? 'configuration.changed' : 'tool.started',
    target: rare ? 'configuration' : 'tool:refund',
    outcome: 'success',
    ...(rare ? { configVersion: 'v2', data: { from: 'v1', to: 'v2' } } : { run, salt: '00'.repeat(16), data: { input_hash: 'ab' } }),
    ...changes,
  }
}

const all = { action: undefined, actor: undefined, target: undefined, requestId: undefined, since: undefined, until: undefined }

function registerListContract(database: () => Database): void {
  const list = (tenant: string, page: Partial<AuditPage> = {}) =>
    createAuditReader(database()).list(tenant, { ...all, limit: 45, before: undefined, ...page })

  async function record(tenant: string, events: readonly AuditEvent[]): Promise<void> {
    const { db, forTenant } = database()
    for (let at = 0; at < events.length; at += 1000)
      await forTenant(tenant).unit((connection) => createRecord(db)(connection, tenant, events.slice(at, at + 1000)))
  }

  test('a tenant has its own events, newest first, in pages that meet', async () => {
    const events = Array.from({ length: 25 }, (_, n) => eventAt(n))
    await record('lists', events)
    await record('lists2', [eventAt(3)])
    const ids = []
    for (let before: string | undefined; before !== '';) {
      const page = await list('lists', { limit: 10, before })
      ids.push(...page.events.map(({ id }) => id))
      before = page.has_more ? page.offset : ''
    }
    assert.deepEqual(ids, events.map(({ id }) => id).toReversed())
    const [newest] = (await list('lists')).events
    assert.deepEqual(newest, {
      id: events[24]!.id,
      seq: null,
      at: '2026-11-28T08:00:24.000Z',
      actor: { issuer: 'idp', sub: 'ann', via: 'run' },
      action: 'tool.started',
      target: 'tool:refund',
      outcome: 'success',
      request_id: 'r1',
      config_version: null,
      data: { input_hash: 'ab' },
      hash: null,
    })
    assert.deepEqual(await list('nobody'), { events: [], offset: '', has_more: false })
  })

  test('each filter selects its events, and filters may be combined', async () => {
    await record(
      'filters',
      Array.from({ length: 25 }, (_, n) => eventAt(n)),
    )
    const places = async (page: Partial<AuditPage>) => (await list('filters', page)).events.map(({ at }) => (Date.parse(at) - start) / 1000)
    assert.deepEqual(await places({ action: 'configuration.changed' }), [20, 10, 0])
    for (const actor of ['root', 'agent-core root', 'key-1']) assert.deepEqual(await places({ actor }), [20, 10, 0], actor)
    assert.deepEqual(await places({ actor: 'idp root' }), [])
    assert.deepEqual(await places({ target: 'configuration', since: start + 5000 }), [20, 10])
    assert.deepEqual(await places({ since: start + 5000, until: start + 8000 }), [7, 6, 5])
    assert.deepEqual(await places({ requestId: 'r1', until: start + 3000 }), [2, 1])
    assert.deepEqual(await places({ requestId: 'r2' }), [])
    assert.deepEqual(await places({ action: 'configuration.changed', limit: 1, before: (await list('filters')).events[4]!.id }), [10])
  })

  test('a rare act is found by its filter, however many calls came after', async () => {
    const rare = eventAt(0)
    await record('rare', [
      rare,
      ...Array.from({ length: 10_500 }, (_, n) => eventAt(1, { id: createNewId(() => start + 2000 + n)(), at: start + 2000 + n })),
    ])
    const ids = []
    let pages = 0
    for (let before: string | undefined; before !== ''; pages++) {
      const page = await list('rare', { target: 'configuration', before })
      ids.push(...page.events.map(({ id }) => id))
      before = page.has_more ? page.offset : ''
    }
    assert.deepEqual([ids, pages], [[rare.id], 2])
    const direct = await list('rare', { action: 'configuration.changed', limit: 1 })
    assert.deepEqual([direct.events.map(({ id }) => id), direct.has_more], [[rare.id], false])
  })

  test('heads are listed newest first, in pages, and a cut stands behind a head at the same place', async () => {
    const { db, forTenant } = database()
    const head = (seq: number, kind: 'head' | 'cut' = 'head') => ({
      tenant: 'heads',
      seq,
      kind,
      hash: 'c',
      at: start,
      kid: 'k1',
      jws: `${seq}`,
    })
    const heads = [head(10), head(20), head(20, 'cut'), head(30)]
    await forTenant('heads').unit((connection) => query(connection, db.insertInto('audit_heads').values(heads)))
    const reader = createAuditReader(database())
    const first = await reader.heads('heads', { limit: 2, before: undefined })
    const rest = await reader.heads('heads', { limit: 10, before: { seq: first[1]!.seq, kind: first[1]!.kind } })
    assert.deepEqual(
      [...first, ...rest].map(({ seq, kind }) => [seq, kind]),
      [
        [30, 'head'],
        [20, 'head'],
        [20, 'cut'],
        [10, 'head'],
      ],
    )
    assert.deepEqual(await reader.heads('nobody', { limit: 2, before: undefined }), [])
  })
}
