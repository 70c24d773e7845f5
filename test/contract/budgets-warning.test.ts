import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { until } from '../fixtures/async-client.ts'
import { startReceiver, verify } from '../fixtures/callback-receiver.ts'
import { startService, type TestService } from '../fixtures/service.ts'

const secret = `whsec_${Buffer.alloc(32, 5).toString('base64')}`
/** An answer costs 0.001 USD. */
const script = { text: ['Four.'], usage: { input: 100, output: 300 } }
const modelFields = { prices: { input: 1, output: 3 } }
/** Longer answers than 300 tokens are not reserved, so the amounts of each call are known. */
const limits = { reserve_output_tokens: 300 }
const daily = { name: 'day', scope: 'caller', window: 'day', limit: { usd: 0.004 }, warn_at: 0.4 }

function start(t: TestContext, budgets: object[], environment: Record<string, string> = {}) {
  return startService(t, { script, modelFields, environment: { CALLBACK_SECRET: secret, ...environment }, config: { budgets, limits } })
}

const warningsIn = ({ log }: TestService) => log.filter((line) => line.includes('A budget is nearly used up'))

test('the operator gets one signed warning for a window, again until it is accepted', async (t) => {
  const receiver = await startReceiver(t, (_, index) => (index < 2 ? 503 : 204))
  const service = await start(t, [daily], {
    ...{ BUDGET_CALLBACK_URL: receiver.url, OUTBOUND_ALLOW: receiver.host, CALLBACK_RETRY_SECONDS: '0.05,0.05' },
    ...{ PUBLIC_URL: 'https://agents.example' },
  })
  assert.equal((await service.client.chat('2 + 2?')).status, 200)
  assert.equal(receiver.received.length, 0)
  assert.equal((await service.client.chat('2 + 2?')).status, 200)
  const warning = await receiver.reaches(3)
  assert.equal((await service.client.chat('2 + 2?')).status, 200)
  const bob = await service.as({ sub: 'bob' })
  assert.equal((await bob.chat('2 + 2?')).status, 200)
  assert.equal((await bob.chat('2 + 2?')).status, 200)
  await receiver.reaches(4)
  assert.equal(receiver.received.length, 4)

  const { type, source, id, subject, data } = warning.body
  const { resets_at, ...fields } = data
  const start24 = Date.parse(resets_at) - 86_400_000
  const issuer = (await service.key()).claims.iss
  const subjectHash = hash('sha256', JSON.stringify(['default', `${issuer} ann`])).slice(0, 32)
  assert.deepEqual(
    { type, source, id, subject },
    { type: 'ai.service.agent.budget.warning', source: 'https://agents.example', id: `day:${subjectHash}:${start24}`, subject: 'day' },
  )
  const { spent, reserved, ...rest } = fields
  assert.deepEqual(rest, {
    budget: 'day',
    scope: 'caller',
    window: 'day',
    subject: { tenant: 'default', issuer, sub: 'ann' },
    limit: { usd: 0.004 },
  })
  assert.equal(spent.usd, 0.001)
  assert.ok(spent.usd + reserved.usd >= 0.0016, `${reserved.usd}`)
  for (const received of receiver.received) verify(secret, received)
  const [first, , third, other] = receiver.received
  assert.deepEqual([first!.text, first!.headers['webhook-id']], [third!.text, id])
  assert.equal(other!.body.data.subject.sub, 'bob')
  assert.notEqual(other!.body.id, id)
})

test('a warning names no more of a tenant, a session or a run than the operator knows', async (t) => {
  const receiver = await startReceiver(t)
  const scopes = ['run', 'session', 'caller', 'tenant', 'service']
  const budgets = scopes.map((scope) => {
    const window = scope === 'run' || scope === 'session' ? {} : { window: 'month' }
    return { name: scope, scope, ...window, limit: { tokens: 10_000 }, warn_at: 0 }
  })
  const service = await start(t, budgets, { BUDGET_CALLBACK_URL: receiver.url, OUTBOUND_ALLOW: receiver.host })
  assert.equal((await service.client.chat('2 + 2?', { 'request-id': 'r1', 'session-id': 's1' })).status, 200)
  await receiver.reaches(5)
  const issuer = (await service.key()).claims.iss
  const subjects = Object.fromEntries(receiver.received.map(({ body: { data } }) => [data.scope, data.subject]))
  const ann = { tenant: 'default', issuer, sub: 'ann' }
  assert.deepEqual(subjects, {
    run: { ...ann, request_id: 'r1' },
    session: { tenant: 'default' },
    caller: ann,
    tenant: { tenant: 'default' },
    service: {},
  })
  const { data } = receiver.received.find(({ body }) => body.data.scope === 'run')!.body
  assert.deepEqual([data.window, data.resets_at, data.limit], [undefined, undefined, { tokens: 10_000 }])
  assert.equal(warningsIn(service).length, 5)
})

test('without an address a warning is a line of the log; an address that is not public is not called', async (t) => {
  const plain = await start(t, [{ ...daily, warn_at: 0 }])
  assert.equal((await plain.client.chat('2 + 2?')).status, 200)
  const [line, ...more] = await until(
    async () => warningsIn(plain),
    (lines) => lines.length > 0,
  )
  assert.equal((await plain.client.chat('2 + 2?')).status, 200)
  assert.deepEqual([more, warningsIn(plain).length], [[], 1])
  const { level, budget, scope, tenant, limit } = JSON.parse(line!)
  assert.deepEqual(
    { level, budget, scope, tenant, limit },
    { level: 40, budget: 'day', scope: 'caller', tenant: 'default', limit: { usd: 0.004 } },
  )

  const receiver = await startReceiver(t)
  const guarded = await start(t, [{ ...daily, warn_at: 0 }], { BUDGET_CALLBACK_URL: receiver.url, CALLBACK_RETRY_SECONDS: '0' })
  assert.equal((await guarded.client.chat('2 + 2?')).status, 200)
  const [failure] = await until(
    async () => guarded.log.filter((text) => text.includes('The warning of a budget was not delivered')),
    (lines) => lines.length > 0,
  )
  assert.match(failure!, /The address is not public/)
  assert.deepEqual(receiver.received, [])
})

test('metrics show what budgets have spent and refused, without a series for each caller', async (t) => {
  const tenant = { name: 'tenant', scope: 'tenant', window: 'month', limit: { tokens: 100_000 } }
  const service = await start(t, [{ ...daily, limit: { usd: 0.0015 } }, tenant], { METRICS_PUBLIC: 'true' })
  const read = async () => {
    const { text } = await service.client.request('GET', '/metrics')
    return Object.fromEntries([...text.matchAll(/^(agent_core_budget_\w+\{.*\}) (.*)$/gm)].map(([, name, value]) => [name, Number(value)]))
  }
  assert.deepEqual(await read(), {})
  for (const sub of ['ann', 'bob']) {
    const client = await service.as({ sub })
    assert.deepEqual([(await client.chat('2 + 2?')).status, (await client.chat('2 + 2?')).status], [200, 429])
  }
  assert.equal((await service.client.chat('2 + 2?')).status, 429)
  assert.deepEqual(await read(), {
    'agent_core_budget_spent{budget="day",unit="USD"}': 0.002,
    'agent_core_budget_reserved{budget="day",unit="USD"}': 0,
    'agent_core_budget_spent{budget="tenant",unit="tokens"}': 800,
    'agent_core_budget_reserved{budget="tenant",unit="tokens"}': 0,
    'agent_core_budget_refused_total{budget="day"}': 3,
  })
})
