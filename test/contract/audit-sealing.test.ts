import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { checkLines } from '../../src/audit/check-ledger.ts'
import { exportLines, toLine } from '../../src/audit/export.ts'
import type { ChainedEvent } from '../../src/audit/ledger-source.ts'
import { createLedgerSource } from '../../src/store/audit/read.ts'
import { createRecord } from '../../src/store/audit/record.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite.ts'
import { until } from '../fixtures/async-client.ts'
import { startReceiver, verify } from '../fixtures/callback-receiver.ts'
import { newAuditEvent } from '../fixtures/ledger.ts'
import { signingKeyOf, startService, type TestService } from '../fixtures/service.ts'

const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`

/** The ledger of a running service, beside the service. */
async function openLedger(t: TestContext, { settings }: TestService) {
  const database = await openSqlite(settings.dataDir)
  t.after(() => database.close())
  const source = createLedgerSource(database)
  async function events(): Promise<ChainedEvent[]> {
    const events: ChainedEvent[] = []
    for await (const link of (await source.open('default')).links) if ('event' in link) events.push(link.event)
    return events
  }
  return { database, source, events }
}

test('an act is sealed within seconds, and a signed head is sent to the operator', async (t) => {
  const receiver = await startReceiver(t, (_, index) => (index === 0 ? 503 : 204))
  const service = await startService(t, {
    environment: {
      ...{ CALLBACK_SECRET: secret, AUDIT_CALLBACK_URL: receiver.url, OUTBOUND_ALLOW: receiver.host },
      ...{ CALLBACK_RETRY_SECONDS: '0.05', PUBLIC_URL: 'https://agents.example' },
    },
  })
  const { database, source, events } = await openLedger(t, service)
  const others = Array.from({ length: 1000 }, () => newAuditEvent())
  await database.all.unit((connection) => createRecord(database.db)(connection, 'default', others))
  const admin = await service.as({ roles: ['admin'] })
  const created = await admin.request('POST', '/core/v1/keys', { body: { sub: 'bob', roles: ['user'] } })
  assert.ok(created.status < 300, created.text)
  const sealed = await until(events, (list) => list.some(({ action, actor }) => action === 'key.created' && actor.via === 'api'))
  assert.ok(sealed.length > 1000)

  const sent = await receiver.reaches(2)
  verify(secret, sent)
  const { type, source: from, id, subject, data } = sent.body
  assert.deepEqual({ type, from, subject }, { type: 'ai.service.agent.audit.head', from: 'https://agents.example', subject: 'default' })
  assert.deepEqual([id, sent.headers['webhook-id']], [`audit:default:${data.seq}`, id])
  assert.equal(receiver.received[0]!.text, sent.text)

  const { kid, publicKey } = await signingKeyOf(service.settings)
  const { x } = await crypto.subtle.exportKey('jwk', publicKey)
  const keys = [{ kid, kty: 'OKP', crv: 'Ed25519', x: x! }]
  const lines: string[] = []
  for await (const line of exportLines(source, { tenant: 'default' })) lines.push(line.trimEnd())
  const check = (given: string[]) =>
    checkLines(
      (async function* () {
        yield* given
      })(),
      { keys, heads: [{ ...data, kind: 'head', kid }] },
    )
  const [chain] = await check(lines)
  assert.equal(chain!.signedTo, data.seq)
  assert.ok(lines.includes(toLine({ head: { ...data, kind: 'head', kid } })))
  await assert.rejects(
    check(lines.slice(0, 900)),
    /^LedgerBroken: seq 901: missing: the given head is of seq \d+, and the ledger ends at seq 900/,
  )
})

test('a metric counts the events that are not sealed', async (t) => {
  const service = await startService(t, { environment: { METRICS_PUBLIC: 'true' } })
  const { database } = await openLedger(t, service)
  const count = async () => Number(/^agent_core_audit_unsealed (\d+)$/m.exec((await service.client.request('GET', '/metrics')).text)![1])
  await until(count, (unsealed) => unsealed === 0)
  await database.all.unit((connection) => createRecord(database.db)(connection, 'default', [newAuditEvent()]))
  assert.equal(await count(), 1)
})
