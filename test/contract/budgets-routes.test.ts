import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { startService } from '../fixtures/service.ts'
import { fakeTool } from '../fixtures/tools.ts'
import type { Client } from '../fixtures/service-client.ts'

/** An answer costs 0.001 USD and 400 tokens. */
const modelFields = { prices: { input: 1, output: 3 } }
const dollar = { text: ['Four.'], usage: { input: 100, output: 300 } }

const budgets = [
  { name: 'caller-day', scope: 'caller', window: 'day', limit: { usd: 0.0016 } },
  { name: 'tenant-month', scope: 'tenant', window: 'month', limit: { usd: 1, tokens: 10_000 }, on_exceeded: 'pause' },
  { name: 'all', scope: 'service', window: 'month', limit: { usd: 100 } },
  { name: 'session', scope: 'session', limit: { tokens: 5000 } },
  { name: 'run', scope: 'run', limit: { usd: 0.5 } },
]

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()
/** The end of every window of a run or session is far away; that of a day may be near. */
const soon = () => new Date(Date.now() + 2000).toISOString()

async function start(t: TestContext, config: object[] = budgets) {
  const service = await startService(t, { script: dollar, modelFields, config: { budgets: config } })
  const as = (sub: string, role: string, tenant = 'default') => service.as({ sub, roles: [role], tenant })
  return { ...service, as, ann: await as('ann', 'user'), admin: await as('boss', 'admin') }
}

const list = async (client: Client, query = '') => (await client.request('GET', `/core/v1/budgets${query}`)).body
const namesOf = async (client: Client, query = '') =>
  (await list(client, query)).budgets.map(({ name, subject }: { name: string; subject: string }) => `${name} ${subject}`)
const override = (client: Client, name: string, body: object) => client.request('PUT', `/core/v1/budgets/${name}/override`, { body })
const clear = (client: Client, name: string, query = '') => client.request('DELETE', `/core/v1/budgets/${name}/override${query}`)

test('a caller sees its own budgets, before the first call too, and never what the tenant spends', async (t) => {
  const { ann, as } = await start(t)
  const [before, ...others] = (await list(ann)).budgets
  assert.deepEqual(others, [])
  const { resets_at: resetsAt, ...rest } = before
  assert.deepEqual(rest, {
    name: 'caller-day',
    scope: 'caller',
    window: 'day',
    subject: 'agent-core ann',
    issuer: 'agent-core',
    sub: 'ann',
    limit: { usd: 0.0016 },
    spent: { usd: 0 },
    reserved: { usd: 0 },
    overrun: { usd: 0 },
    remaining: { usd: 0.0016 },
    timezone: 'UTC',
    on_exceeded: 'stop',
  })
  assert.match(resetsAt, /T00:00:00\.000Z$/)
  const headers = { 'request-id': 'r1', 'session-id': 's1' }
  assert.equal((await ann.chat('2 + 2?', headers)).status, 200)
  const page = await list(ann)
  const view = (name: string) => page.budgets.find((budget: { name: string }) => budget.name === name)
  assert.deepEqual([view('caller-day').spent, view('caller-day').remaining], [{ usd: 0.001 }, { usd: 0.0006 }])
  assert.deepEqual([view('run').subject, view('run').spent, view('run').resets_at, view('run').window], ['r1', { usd: 0.001 }, null, null])
  assert.deepEqual([view('session').subject, view('session').spent, view('session').sub], ['s1', { tokens: 400 }, 'ann'])
  assert.deepEqual(await namesOf(ann), ['caller-day agent-core ann', 'run r1', 'session s1'])
  assert.deepEqual(await namesOf(await as('bob', 'viewer')), ['caller-day agent-core bob'])
})

test('with observability.read the tenant and its callers are listed, and the service in the tenant of administrators alone', async (t) => {
  const { ann, as } = await start(t)
  const carl = await as('carl', 'user', 'acme')
  await ann.chat('2 + 2?', { 'request-id': 'r1', 'session-id': 's1' })
  await carl.chat('2 + 2?', { 'request-id': 'r1', 'session-id': 's1' })
  const operator = await as('op', 'operator')
  assert.deepEqual(await namesOf(operator), [
    'caller-day agent-core op',
    'tenant-month default',
    'all *',
    'caller-day agent-core ann',
    'run r1',
    'session s1',
  ])
  const spent = (await list(operator, '?scope=service')).budgets[0].spent
  assert.deepEqual(spent, { usd: 0.002 })
  assert.deepEqual((await list(operator, '?name=tenant-month')).budgets[0].spent, { usd: 0.001, tokens: 400 })
  assert.deepEqual(await namesOf(await as('op', 'operator', 'acme')), [
    'caller-day agent-core op',
    'tenant-month acme',
    'caller-day agent-core carl',
    'run r1',
    'session s1',
  ])
  assert.deepEqual(await namesOf(await as('op', 'operator', 'beta')), ['caller-day agent-core op', 'tenant-month beta'])
})

test('filters select the windows of a session or run, and pages follow each other', async (t) => {
  const { admin, as } = await start(t, [{ ...budgets[0], limit: { usd: 1 } }, ...budgets.slice(1)])
  for (const sub of ['ann', 'bea', 'cyd'])
    await (await as(sub, 'user')).chat('2 + 2?', { 'request-id': `r-${sub}`, 'session-id': `s-${sub}` })
  assert.deepEqual(await namesOf(admin, '?session_id=s-bea'), ['session s-bea'])
  assert.deepEqual(await namesOf(admin, '?request_id=r-bea'), ['run r-bea'])
  assert.deepEqual(await namesOf(await as('ann', 'user'), '?request_id=r-bea'), [])
  assert.deepEqual(await namesOf(admin, '?request_id=unknown'), [])
  const all = await namesOf(admin)
  assert.equal(all.length, 3 + 3 * 3)
  for (const limit of [1, 2, 5]) {
    const seen: string[] = []
    for (let before = '', more = true; more;) {
      const page = await list(admin, `?limit=${limit}${before && `&before=${before}`}`)
      seen.push(...page.budgets.map(({ name, subject }: { name: string; subject: string }) => `${name} ${subject}`))
      before = page.offset
      more = page.has_more
      assert.ok(seen.length <= all.length)
    }
    assert.deepEqual(seen, all)
  }
})

test('the windows of a run and its session are listed although the first call was refused', async (t) => {
  const small = [
    { name: 'session', scope: 'session', limit: { usd: 0.002 }, on_exceeded: 'pause' },
    { name: 'run', scope: 'run', limit: { usd: 0.5 } },
  ]
  // The run is admitted for its question, and its tools are too dear.
  const tool = fakeTool('long', async () => 1, { description: 'x'.repeat(5000) })
  const { client } = await startService(t, { script: dollar, modelFields, tools: [tool], config: { budgets: small } })
  assert.equal((await client.chat('2 + 2?', { 'request-id': 'r1', 'session-id': 's1' })).status, 202)
  const spentOf = async (query: string) => (await list(client, query)).budgets.map(({ name, spent }: any) => [name, spent])
  assert.deepEqual(await spentOf('?session_id=s1'), [['session', { usd: 0 }]])
  assert.deepEqual(await spentOf('?request_id=r1'), [['run', { usd: 0 }]])
})

test('an override applies to the next chat, and ends when it is cleared', async (t) => {
  const { ann, admin, log } = await start(t)
  assert.equal((await ann.chat('2 + 2?')).status, 200)
  assert.equal((await ann.chat('2 + 2?')).status, 429)
  const subject = 'agent-core ann'
  const until = (await list(ann)).budgets[0].resets_at
  const refused = await override(ann, 'caller-day', { limit: { usd: 0.9 }, until })
  assert.deepEqual([refused.status, refused.body.details.error_type], [403, 'Forbidden'])
  const raised = await override(admin, 'caller-day', { subject, limit: { usd: 0.9 }, until })
  assert.equal(raised.status, 200, raised.text)
  const { limit, spent, remaining, override: set } = raised.body
  assert.deepEqual([limit, spent, remaining], [{ usd: 0.9 }, { usd: 0.001 }, { usd: 0.899 }])
  assert.deepEqual(set, { limit: { usd: 0.9 }, until, by: 'boss' })
  assert.equal((await ann.chat('2 + 2?')).status, 200)
  assert.deepEqual((await list(ann)).budgets[0].override, set)
  const cleared = await clear(admin, 'caller-day', `?subject=${encodeURIComponent(subject)}`)
  assert.deepEqual([cleared.status, cleared.body.limit, cleared.body.override], [200, { usd: 0.0016 }, undefined])
  assert.equal((await ann.chat('2 + 2?')).status, 429)
  const changes = log.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'The limit of a budget was changed')
  assert.deepEqual(
    changes.map(({ by, budget, limit }) => [by, budget, limit.usd]),
    [
      ['agent-core boss', 'caller-day', 0.9],
      ['agent-core boss', 'caller-day', 0.0016],
    ],
  )
})

test("each scope has its own rules about who changes a limit, and nobody changes another tenant's", async (t) => {
  const { admin, as, ann } = await start(t)
  await ann.chat('2 + 2?', { 'request-id': 'r1', 'session-id': 's1' })
  const acme = await as('boss', 'admin', 'acme')
  const until = soon
  for (const [name, body] of [
    ['tenant-month', { limit: { usd: 2 } }],
    ['tenant-month', { subject: 'default', limit: { usd: 2 } }],
    ['all', { limit: { usd: 2 } }],
  ] as const) {
    const reply = await override(acme, name, { ...body, until: until() })
    assert.deepEqual([reply.status, reply.body.details.error_type], [403, 'Forbidden'], reply.text)
    assert.equal((await clear(acme, name)).status, 403)
  }
  for (const [name, subject] of [
    ['run', 'r1'],
    ['run', 'r1 agent-core ann'],
    ['session', 's1'],
  ] as const) {
    assert.equal((await override(acme, name, { subject, limit: { usd: 2 }, until: until() })).status, 404)
    assert.equal((await clear(acme, name, `?subject=${encodeURIComponent(subject)}`)).status, 404)
  }
  const ofAcme = await override(admin, 'tenant-month', { subject: 'acme', limit: { usd: 2 }, until: until() })
  assert.deepEqual([ofAcme.status, ofAcme.body.subject, ofAcme.body.limit], [200, 'acme', { usd: 2, tokens: 10_000 }])
  assert.deepEqual((await list(acme, '?scope=tenant')).budgets[0].override.by, 'boss')
  assert.equal((await list(admin, '?scope=tenant')).budgets[0].override, undefined)
  assert.equal((await override(admin, 'all', { limit: { usd: 3 }, until: until() })).status, 200)
  const run = await override(admin, 'run', { subject: 'r1', limit: { usd: 2 }, until: inAnHour() })
  assert.deepEqual([run.body.subject, run.body.sub, run.body.limit, run.body.spent], ['r1', 'ann', { usd: 2 }, { usd: 0.001 }])
  const session = await override(admin, 'session', { subject: 's1 agent-core ann', limit: { tokens: 1 }, until: inAnHour() })
  assert.deepEqual([session.body.subject, session.body.remaining], ['s1', { tokens: 0 }])
  assert.equal((await ann.chat('2 + 2?', { 'session-id': 's1' })).status, 429)
})

test("a caller's limit is never above its tenant's, and an id of several callers needs its caller", async (t) => {
  const { admin, ann, as } = await start(t)
  const above = await override(admin, 'caller-day', { limit: { usd: 1.5 }, until: soon() })
  assert.deepEqual([above.status, above.body.details.error_type], [409, 'AboveTenantBudget'])
  assert.equal((await override(admin, 'tenant-month', { limit: { usd: 2 }, until: soon() })).status, 200)
  const below = await override(admin, 'caller-day', { limit: { usd: 1.5 }, until: soon() })
  assert.equal(below.status, 200, below.text)
  for (const client of [ann, await as('bob', 'user')]) await client.chat('2 + 2?', { 'request-id': 'r1' })
  const several = await override(admin, 'run', { subject: 'r1', limit: { usd: 2 }, until: inAnHour() })
  assert.deepEqual([several.status, several.body.details.error_type], [409, 'AmbiguousRun'])
  assert.equal((await override(admin, 'run', { subject: 'r1 agent-core bob', limit: { usd: 2 }, until: inAnHour() })).body.sub, 'bob')
})

test('bad input is refused with its place and changes nothing, and an unknown budget is 404', async (t) => {
  const { admin } = await start(t)
  const good = { limit: { usd: 0.5 }, until: soon() }
  const { until, limit } = good
  const bad: [string, object, (string | number)[]][] = [
    ['caller-day', { until }, ['body', 'limit']],
    ['caller-day', { limit }, ['body', 'until']],
    ['caller-day', { ...good, limit: {} }, ['body', 'limit']],
    ['caller-day', { ...good, limit: { usd: -1 } }, ['body', 'limit', 'usd']],
    ['caller-day', { ...good, limit: { eur: 1 } }, ['body', 'limit', 'eur']],
    ['caller-day', { ...good, limit: { tokens: 1 } }, ['body', 'limit', 'tokens']],
    ['caller-day', { ...good, limit: { usd: 0.5, tokens: 1.5 } }, ['body', 'limit', 'tokens']],
    ['caller-day', { ...good, more: 1 }, ['body', 'more']],
    ['caller-day', { ...good, until: '2020-01-01T00:00:00Z' }, ['body', 'until']],
    ['caller-day', { ...good, until: '2099-01-01T00:00:00Z' }, ['body', 'until']],
    ['caller-day', { ...good, until: '2099-01-01T00:00:00' }, ['body', 'until']],
    ['caller-day', { ...good, until: 'tomorrow' }, ['body', 'until']],
    ['caller-day', { ...good, subject: 'ann' }, ['body', 'subject']],
    ['caller-day', { ...good, subject: 'a\0b c' }, ['body', 'subject']],
    ['tenant-month', { ...good, subject: 'a\nb' }, ['body', 'subject']],
    ['all', { ...good, subject: 'default' }, ['body', 'subject']],
    ['run', good, ['body', 'subject']],
  ]
  for (const [name, body, loc] of bad) {
    const reply = await override(admin, name, body)
    assert.equal(reply.status, 422, `${JSON.stringify(body)} ${reply.text}`)
    assert.deepEqual(reply.body.detail[0].loc, loc, reply.text)
  }
  assert.equal((await clear(admin, 'run')).body.detail[0].loc.join('.'), 'query.subject')
  for (const name of ['nothing', 'n'.repeat(64)]) {
    assert.equal((await override(admin, name, good)).status, 404)
    assert.equal((await clear(admin, name)).status, 404)
  }
  assert.equal((await override(admin, 'not%20a%20name', good)).status, 422)
  for (const query of ['?scope=all', '?limit=0', '?limit=101', '?before=nonsense', '?name=a%20b', '?session_id=%20'])
    assert.equal((await admin.request('GET', `/core/v1/budgets${query}`)).status, 422, query)
  assert.ok((await list(admin)).budgets.every((budget: { override?: object }) => budget.override === undefined))
})

test('without budgets the list is empty', async (t) => {
  const { admin } = await start(t, [])
  assert.deepEqual(await list(admin), { budgets: [], offset: '', has_more: false })
  assert.equal((await override(admin, 'caller-day', { limit: { usd: 1 }, until: soon() })).status, 404)
})

const chatBody = { model: 'agent-core', messages: [{ role: 'user', content: '2 + 2?' }] }

test('answers say what is left of the tightest budget that the caller may read, streams at their start', async (t) => {
  const roomy = [
    { ...budgets[0], limit: { usd: 0.9 } },
    { ...budgets[1], limit: { usd: 0.8, tokens: 200_000 } },
  ]
  const { ann, as } = await start(t, roomy)
  const left = ({ headers }: { headers: Headers }) => headers.get('x-budget-remaining')
  assert.equal(left(await ann.chat('2 + 2?')), 'usd=0.899')
  assert.equal(left(await ann.request('POST', '/v1/chat/completions', { body: chatBody })), 'usd=0.898')
  assert.equal(left(await ann.request('POST', '/v1/responses', { body: { model: 'agent-core', input: '2 + 2?' } })), 'usd=0.897')
  const stream = await ann.stream('2 + 2?')
  const usd = Number(/^usd=(.+)$/.exec(left(stream) ?? '')?.[1])
  assert.ok(usd > 0.8 && usd < 0.897, left(stream) ?? 'none')
  await stream.rest()
  const repeated = await ann.chat('3 + 3?', { 'request-id': 'again' })
  assert.equal(left(repeated), 'usd=0.895')
  assert.equal(left(await ann.chat('2 + 2?')), 'usd=0.894')
  // A replay says what is left now.
  assert.equal(left(await ann.chat('3 + 3?', { 'request-id': 'again' })), 'usd=0.894')
  const followed = await ann.follow('again')
  assert.equal(left(followed), 'usd=0.894')
  await followed.rest()
  const boss = await as('boss', 'admin')
  assert.equal(left(await boss.chat('2 + 2?')), 'usd=0.793, tokens=197200')
  assert.equal(left(await ann.request('GET', '/core/v1/budgets')), null)
})

test('without budgets no answer has the header', async (t) => {
  const { client } = await startService(t, { script: dollar, modelFields })
  assert.equal((await client.chat('2 + 2?')).headers.get('x-budget-remaining'), null)
})
