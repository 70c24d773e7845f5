import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chainHash, firstHash, type AuditEvent, type SealedEvent } from '../../src/audit/event.ts'
import type { AuditPage, ExportLine } from '../../src/audit/reader.ts'
import { createNewId } from '../../src/service/new-id.ts'
import { createAuditReader } from '../../src/store/audit/list.ts'
import { createRecord } from '../../src/store/audit/record.ts'
import { query, type Database } from '../../src/store/database.ts'
import { storeContract } from './suites.ts'

storeContract('lists and exports of audit events', registerListContract)

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

  /** Numbers and chains the events, as sealing does, and signs a head behind every `headEvery` events. */
  async function seal(tenant: string, events: readonly AuditEvent[], headEvery = 100): Promise<SealedEvent[]> {
    const { db, forTenant } = database()
    const listed = new Map<string, Awaited<ReturnType<typeof list>>['events'][number]>()
    for (let before: string | undefined; before !== '';) {
      const page = await list(tenant, { limit: 100, before })
      for (const event of page.events) listed.set(event.id, event)
      before = page.has_more ? page.offset : ''
    }
    let previous = firstHash
    const sealed: SealedEvent[] = []
    await forTenant(tenant).unit(async (connection) => {
      for (const [index, { id }] of events.entries()) {
        const { hash: _, seq: __, ...written } = listed.get(id)!
        const event = { tenant, ...written, seq: index + 1 }
        const hash = chainHash(previous, event)
        await query(
          connection,
          db
            .updateTable('audit_events')
            .set({ seq: event.seq, prev_hash: previous, hash })
            .where('tenant', '=', tenant)
            .where('id', '=', id),
        )
        if (event.seq % headEvery === 0) {
          const head = { tenant, seq: event.seq, kind: 'head' as const, hash, at: start, kid: 'k1', jws: `signed ${event.seq}` }
          await query(connection, db.insertInto('audit_heads').values(head))
        }
        previous = hash
        sealed.push(event)
      }
    })
    return sealed
  }

  async function exported(tenant: string, span: { since?: number; until?: number } = {}): Promise<ExportLine[]> {
    const lines: ExportLine[] = []
    for await (const page of createAuditReader(database()).export(tenant, { since: span.since, until: span.until })) lines.push(...page)
    return lines
  }
  const seqsOf = (lines: readonly ExportLine[]) => lines.flatMap((line) => (line.type === 'event' ? [line.seq] : []))

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
  })

  test('an export is the chain without a gap, with its heads, page by page', async () => {
    const events = Array.from({ length: 1203 }, (_, n) => eventAt(n))
    await record('exports', events)
    assert.deepEqual(await exported('exports'), [], 'events that are not sealed are not exported')
    const sealed = await seal('exports', events, 500)
    await record('exports', [eventAt(2000)])
    const lines = await exported('exports')
    assert.deepEqual(
      seqsOf(lines),
      Array.from({ length: 1203 }, (_, n) => n + 1),
    )
    assert.deepEqual(
      lines.flatMap((line, index) => (line.type === 'head' ? [[line.seq, line.jws, (lines[index - 1] as { seq: number }).seq]] : [])),
      [
        [500, 'signed 500', 500],
        [1000, 'signed 1000', 1000],
      ],
    )
    let previous = firstHash
    for (const line of lines) {
      if (line.type === 'head') continue
      const { type: _, prev_hash, hash, ...event } = line
      assert.deepEqual(event, sealed[event.seq - 1])
      assert.deepEqual([prev_hash, hash], [previous, chainHash(previous, event)])
      previous = hash
    }
    const minutes = await exported('exports', { since: start + 60_000, until: start + 120_000 })
    assert.deepEqual(
      seqsOf(minutes),
      Array.from({ length: 60 }, (_, n) => n + 61),
    )
    assert.deepEqual(await exported('exports', { since: start + 3_000_000 }), [])
    assert.deepEqual(await exported('exports', { until: start }), [])
  })

  test('an event whose clock was behind leaves no gap in an export', async () => {
    const events = [eventAt(0), eventAt(10), eventAt(11, { at: start + 4000 }), eventAt(12), eventAt(20)]
    await record('clocks', events)
    await seal('clocks', events)
    assert.deepEqual(seqsOf(await exported('clocks', { since: start + 10_000, until: start + 15_000 })), [2, 3, 4])
  })

  test('heads are listed newest first, in pages, and a cut stands before a head at the same place', async () => {
    const events = Array.from({ length: 30 }, (_, n) => eventAt(n))
    await record('heads', events)
    await seal('heads', events, 10)
    const { db, forTenant } = database()
    const cut = { tenant: 'heads', seq: 20, kind: 'cut' as const, hash: 'c', at: start, kid: 'k1', jws: 'cut' }
    await forTenant('heads').unit((connection) => query(connection, db.insertInto('audit_heads').values(cut)))
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
