import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { startService } from '../fixtures/service.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

interface ListedCheck {
  name: string
  status: string
  message: string
  remedy?: string
}

test('Status: the checks of doctor, this process and its jobs, for operators of the administrators’ tenant alone', async (t) => {
  const tools = [{ name: 'calculator' }, { name: 'sales', type: 'data_query', config: { tables: { sales: 'none.csv' } } }]
  const { as, model } = await startService(t, { script: {}, config: { tools } })
  const operator = await as({ sub: 'op', roles: ['operator'] })
  const { status, body, text } = await operator.request('GET', '/core/v1/status')
  assert.equal(status, 200, text)
  const checks = body.checks as ListedCheck[]
  assert.deepEqual(
    [...new Set(checks.map(({ name }) => name))],
    ['settings', 'data_directory', 'store', 'configuration', 'files', 'models', 'tools', 'search', 'outbound'],
  )
  const sales = checks.find(({ message }) => message.startsWith('tool sales: '))
  assert.deepEqual([sales?.status, typeof sales?.remedy], ['error', 'string'])
  assert.deepEqual(
    checks.filter((check) => check !== sales && check.status !== 'ok'),
    [],
  )
  const [replica, ...others] = body.replicas
  assert.deepEqual(
    { others, alive: replica.is_alive, runs: replica.runs, version: replica.version },
    { others: [], alive: true, runs: 0, version: '0.0.0' },
  )
  assert.equal(body.version, '0.0.0')
  assert.ok(typeof body.jobs === 'object')
  assert.ok(!text.includes('model-secret-key'))
  const calls = model.requests.length
  const again = await Promise.all([1, 2, 3].map(() => operator.request('GET', '/core/v1/status')))
  for (const reply of again) assert.equal(reply.body.checked_at, body.checked_at)
  assert.equal(model.requests.length, calls)
  const stranger = await as({ sub: 'op', roles: ['operator'], tenant: 'other' })
  const refused = await stranger.request('GET', '/core/v1/status')
  assert.equal(refused.status, 403)
  assert.match(refused.body.body, /administrators' tenant/)
})

test('Status: on Postgres every process is listed', async (t) => {
  const environment = { DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }
  await startService(t, { environment })
  const second = await startService(t, { environment })
  const admin = await second.as({ roles: ['admin'] })
  const { status, body, text } = await admin.request('GET', '/core/v1/status')
  assert.equal(status, 200, text)
  assert.deepEqual(
    body.replicas.map(({ is_alive, version }: { is_alive: boolean; version: string }) => [is_alive, version]),
    [
      [true, '0.0.0'],
      [true, '0.0.0'],
    ],
  )
  const checks = body.checks as ListedCheck[]
  assert.ok(checks.some(({ name, message }) => name === 'store' && message.startsWith('store: Postgres')))
  assert.ok(checks.some(({ name, status: state }) => name === 'secrets' && state === 'ok'))
  assert.ok(!text.includes(environment.DATABASE_URL))
  assert.deepEqual(Object.keys(body.jobs.retention ?? { due: 0, scheduled: 0, running: 0, failed: 0 }), [
    'due',
    'scheduled',
    'running',
    'failed',
  ])
})
