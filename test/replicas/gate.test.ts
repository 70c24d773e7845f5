import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { startService } from '../fixtures/service.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

const place = '/core/v1/agent/config'

test('Gate: a change that meets the new gate of another replica is judged by the gate', async (t) => {
  const environment = { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }
  const [here, there] = [await startService(t, { environment }), await startService(t, { environment })]
  const [a, b] = [await here.as({ sub: 'root', roles: ['admin'] }), await there.as({ sub: 'root', roles: ['admin'] })]
  const gate = { releases: { gate: { dataset: 'core' } } }
  const outcomes = new Set<number>()
  for (let round = 0; round < 12; round++) {
    const opened = await a.request('PUT', place, { body: { configuration: { releases: null }, override: 'next round' } })
    assert.equal(opened.status, 200, opened.text)
    const [gated, changed] = await Promise.all([
      a.request('PUT', place, { body: { configuration: gate } }),
      b.request('PUT', place, { body: { configuration: { description: `Round ${round}.` } } }),
    ])
    assert.equal(gated.status, 200, gated.text)
    outcomes.add(changed.status)
    const { versions } = (await a.request('GET', `${place}/history?limit=2`)).body
    const newest = versions.map(({ version }: { version: string }) => version)
    // The change is in use only where the change came before the gate.
    if (changed.status === 200) assert.deepEqual(newest, [gated.body.version, changed.body.version])
    else assert.deepEqual([changed.status, changed.body.details.error_type, newest[0]], [409, 'GateNotPassed', gated.body.version])
  }
  t.diagnostic(`outcomes: ${[...outcomes].join(', ')}`)
})
