import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkLines } from '../../src/audit/check-ledger.ts'
import { callsIn, decide, sending, sendTo } from '../fixtures/approvals.ts'
import { until } from '../fixtures/async-client.ts'
import { startService, type ServiceOptions } from '../fixtures/service.ts'
import type { Client, Reply } from '../fixtures/service-client.ts'

const path = '/core/v1/audit'
const keys = '/core/v1/keys'
const list = (client: Client, query = '') => client.request('GET', `${path}${query}`)
const actionsIn = ({ body }: Reply): string[] => body.events.map(({ action }: { action: string }) => action)
const makeKey = (client: Client, sub: string) => client.request('POST', keys, { body: { sub, roles: ['viewer'] } })

async function start(t: Parameters<typeof startService>[0], options: ServiceOptions = {}) {
  const service = await startService(t, { script: { text: 'ok' }, ...options })
  const as = (sub: string, role: string, tenant = 'default') => service.as({ sub, roles: [role], tenant })
  return { ...service, whoIs: as, admin: await as('root', 'admin'), auditor: await as('carl', 'auditor') }
}

/** Waits until every event of the caller's tenant is sealed. */
const sealed = (client: Client) =>
  until(
    () => list(client, '?limit=100'),
    ({ body }) => body.events.every(({ seq }: { seq: number | null }) => seq !== null),
  )

test('Audit: an act is listed with who acted, and has its number within two seconds', async (t) => {
  const { admin, auditor, service } = await start(t)
  const made = await makeKey(admin, 'ann')
  const before = await list(auditor, '?action=key.created&limit=1')
  const madeAt = Date.now()
  const [event] = (await sealed(auditor)).body.events
  assert.ok(Date.now() - madeAt < 2000, `${Date.now() - madeAt} ms until the seal`)
  const { id, at, actor, seq, hash, ...rest } = event
  assert.deepEqual(rest, {
    action: 'key.created',
    target: `key:${made.body.jti}`,
    outcome: 'success',
    request_id: null,
    config_version: service.agent.version,
    data: { sub: 'ann', roles: ['viewer'], expires_at: made.body.expires_at },
  })
  const { jti, ...who } = actor
  assert.deepEqual(who, { issuer: 'agent-core', sub: 'root', via: 'api' })
  assert.match(jti, /^[0-9a-f-]{36}$/)
  assert.ok(seq >= 1 && /^[0-9a-f]{64}$/.test(hash) && Math.abs(Date.parse(at) - madeAt) < 5000)
  assert.equal(before.body.events[0].id, id, 'an act is listed before its seal')
})

test('Audit: a change of the configuration has both versions, its paths and who made it, with its number within two seconds', async (t) => {
  const { admin, auditor } = await start(t)
  const { body } = await admin.request('GET', '/core/v1/agent/config')
  const changed = await admin.request('PUT', '/core/v1/agent/config', { body: { configuration: { max_iterations: 7 } } })
  const changedAt = Date.now()
  await sealed(auditor)
  assert.ok(Date.now() - changedAt < 2000, `${Date.now() - changedAt} ms until the seal`)
  const [event] = (await list(auditor, '?action=configuration.changed&limit=1')).body.events
  const { sub, jti, via } = event.actor
  assert.deepEqual([sub, typeof jti, via], ['root', 'string', 'api'])
  assert.equal(event.config_version, changed.body.version)
  assert.deepEqual([event.data.from, event.data.to], [body.version, changed.body.version])
  assert.match(JSON.stringify(event.data.diff), /max_iterations/)
  assert.doesNotMatch(JSON.stringify(event), /model-secret-key/)
})

test('Audit: a call that was approved with another input has both hashes, and starts with the second', async (t) => {
  const { tool, sent } = sending()
  const { client, auditor } = await start(t, { tools: [tool], script: [sendTo('Bob'), { text: 'Sent.' }] })
  const ids = { 'request-id': 'r1', 'session-id': 's1' }
  const [call] = callsIn(await client.chat('Write to Bob.', ids))
  await decide(client, 'r1', call!, { decision: 'approve', tool_input: { to: 'Eve' } })
  assert.equal((await client.chat('Write to Bob.', ids)).status, 200)
  assert.deepEqual(sent, [{ to: 'Eve' }])
  const { events } = (await list(auditor, '?request_id=r1')).body
  const dataOf = (action: string) => events.find((event: { action: string }) => event.action === action).data
  const { asked_hash: asked, executed_hash: executed } = dataOf('approval.decided')
  assert.match(asked, /^[0-9a-f]{64}$/)
  assert.notEqual(asked, executed)
  assert.equal(dataOf('approval.asked').input_hash, asked)
  assert.equal(dataOf('tool.started').input_hash, executed)
  assert.doesNotMatch(JSON.stringify(events), /Bob|Eve/)
})

test('Audit: pages meet, newest first, and filters select', async (t) => {
  const { admin, auditor } = await start(t)
  const made = []
  for (let n = 0; n < 5; n++) made.push((await makeKey(admin, `ann${n}`)).body.jti)
  await admin.request('DELETE', `${keys}/${made[0]}`)
  const targets: string[] = []
  for (let before = ''; ;) {
    const { body } = await list(auditor, `?limit=2&actor=root${before}`)
    assert.ok(body.events.length <= 2)
    targets.push(...body.events.map(({ target }: { target: string }) => target))
    if (!body.has_more) break
    before = `&before=${body.offset}`
  }
  assert.deepEqual(
    targets,
    [made[0], ...made.toReversed()].map((jti) => `key:${jti}`),
  )
  const { jti } = (await list(auditor, '?actor=root&limit=1')).body.events[0].actor
  for (const actor of ['root', 'agent-core%20root', jti]) assert.equal((await list(auditor, `?actor=${actor}`)).body.events.length, 6)
  assert.deepEqual(actionsIn(await list(auditor, `?target=key:${made[0]}`)), ['key.revoked', 'key.created'])
  assert.deepEqual(actionsIn(await list(auditor, '?action=key.revoked')), ['key.revoked'])
  assert.deepEqual(actionsIn(await list(auditor, '?until=2020-01-01')), [])
  assert.deepEqual(actionsIn(await list(auditor, '?request_id=none')), [])
  assert.equal((await list(auditor, '?since=2020-01-01&actor=root')).body.events.length, 6)
})

test('Audit: a wrong value of the query is 422 and named', async (t) => {
  const { auditor } = await start(t)
  const wrong: [string, string, string?][] = [
    ['', 'action', 'nothing'],
    ['', 'action', ''],
    ['', 'actor', ''],
    ['', 'target', 'a%00b'],
    ['', 'request_id', ''],
    ['', 'since', 'yesterday'],
    ['', 'until', '2026-02-30T00:00:00Zx'],
    ['', 'limit', '0'],
    ['', 'limit', '101'],
    ['', 'limit', 'x'],
    ['', 'before', 'x'],
    ['', 'acton', 'key.created'],
    ['/export', 'since', 'x'],
    ['/export', 'action', 'key.created'],
    ['/heads', 'limit', '101'],
    ['/heads', 'before', 'x'],
    ['/heads', 'before', Buffer.from('["1","head"]').toString('base64url')],
    ['/heads', 'since', '2026-01-01'],
  ]
  for (const [route, name, value] of wrong) {
    const { status, body, text } = await auditor.request('GET', `${path}${route}?${name}=${value}`)
    assert.equal(status, 422, `${route} ${name}=${value}: ${text}`)
    assert.deepEqual(body.detail[0].loc.slice(0, 2), ['query', name], text)
  }
  for (const route of ['', '/export']) {
    const { status, body } = await auditor.request('GET', `${path}${route}?since=2026-02-02&until=2026-02-01`)
    assert.deepEqual([status, body.detail[0].loc], [422, ['query', 'until']])
  }
  assert.equal((await list(auditor, '?action=audit.exported')).body.events.length, 0, 'a refused export is none')
})

test('Audit: a user does not read the ledger, and an auditor does nothing else', async (t) => {
  const { auditor, client, whoIs } = await start(t)
  for (const route of ['', '/export', '/heads']) {
    for (const reader of [client, await whoIs('vic', 'viewer'), await whoIs('oz', 'operator')])
      assert.equal((await reader.request('GET', `${path}${route}`)).status, 403)
    assert.equal((await auditor.request('GET', `${path}${route}`)).status, 200)
  }
  assert.equal((await auditor.chat('hello')).status, 403)
  assert.equal((await auditor.request('GET', '/core/v1/runs')).status, 403)
  assert.equal((await auditor.request('GET', keys)).status, 403)
  assert.deepEqual((await auditor.request('GET', '/core/v1/me')).body.permissions, ['audit.read'])
})

test("Audit: no tenant sees another's events, heads or export", async (t) => {
  const { admin, auditor, whoIs } = await start(t)
  const acme = await whoIs('amy', 'admin', 'acme')
  const beta = await whoIs('ben', 'admin', 'beta')
  await makeKey(acme, 'secret-name')
  await makeKey(admin, 'home-name')
  for (const reader of [beta, await whoIs('bea', 'auditor', 'beta'), await whoIs('ben', 'auditor', 'beta')]) {
    for (const query of ['', '?actor=amy', '?actor=root', '?action=key.created'])
      assert.deepEqual(
        (await list(reader, query)).body.events.filter(({ actor }: any) => actor.sub === 'amy' || actor.sub === 'root'),
        [],
      )
    assert.doesNotMatch((await reader.request('GET', `${path}/export`)).text, /amy|secret-name|home-name/)
    const { heads } = (await reader.request('GET', `${path}/heads`)).body
    const tenants = heads.map(({ jws }: { jws: string }) => JSON.parse(Buffer.from(jws.split('.')[1]!, 'base64url').toString()).tenant)
    assert.deepEqual([...new Set(tenants)], ['beta'], 'the export has signed the end of its own chain')
  }
  const events = (await list(acme)).body.events
  assert.deepEqual(
    events.map(({ actor }: any) => actor.sub),
    ['amy'],
  )
  assert.deepEqual((await list(acme, `?before=${events[0].id}`)).body, { events: [], offset: '', has_more: false })
  assert.doesNotMatch((await list(auditor)).text, /secret-name/)
})

test('Audit: an export is the chain, is itself an event, and is verified without the service', async (t) => {
  const { admin, auditor } = await start(t)
  for (let n = 0; n < 3; n++) await makeKey(admin, `ann${n}`)
  await sealed(auditor)
  const since = new Date(Date.now() - 3_600_000).toISOString()
  const reply = await auditor.request('GET', `${path}/export?since=${since}`)
  assert.equal(reply.headers.get('content-type'), 'application/x-ndjson')
  assert.match(reply.headers.get('content-disposition')!, /^attachment; filename="audit\.ndjson"$/)
  const lines = reply.text.trimEnd().split('\n')
  const { jwks } = (await auditor.request('GET', `${path}/heads`)).body
  const [chain] = await checkLines(toAsync(lines), { keys: jwks.keys, heads: [] })
  const { tenant, count, from, to, signedTo } = chain!
  assert.deepEqual({ tenant, from, count, signedTo }, { tenant: 'default', from: 1, count: to, signedTo: to }, 'signed to the end')
  assert.equal(JSON.parse(lines.at(-2)!).action, 'audit.exported', 'the export contains its own event')
  const changed = lines.map((line) => line.replace('"sub":"ann1"', '"sub":"ann9"'))
  const broken = JSON.parse(changed.find((line) => line.includes('ann9'))!).seq
  await assert.rejects(checkLines(toAsync(changed), { keys: jwks.keys, heads: [] }), new RegExp(`seq ${broken}: hash does not match`))
  const [event] = (await list(auditor, '?action=audit.exported')).body.events
  assert.deepEqual([event.actor.sub, event.target, event.data], ['carl', 'audit', { since }])
  const next = await sealed(auditor)
  assert.equal(next.body.events[0].action, 'audit.exported')
})

test('Audit: reads are recorded where the configuration says so, and exports always', async (t) => {
  const quiet = await start(t, { config: { audit: { enabled: false } } })
  await makeKey(quiet.admin, 'ann')
  await list(quiet.auditor)
  await quiet.auditor.request('GET', `${path}/export`)
  assert.deepEqual(actionsIn(await list(quiet.auditor, '?actor=carl')), ['audit.exported'])
  assert.deepEqual(actionsIn(await list(quiet.auditor, '?actor=root')), [])

  const { auditor, admin, client } = await start(t, { config: { audit: { reads: true } } })
  await list(auditor)
  await auditor.request('GET', `${path}/heads`)
  const { events } = (await list(auditor, '?actor=carl')).body
  assert.deepEqual(
    events.map(({ action, target }: any) => `${action} ${target}`),
    ['audit.read audit', 'audit.read audit:heads', 'audit.read audit'],
  )

  await client.chat('hello', { 'session-id': 's1', 'request-id': 'r1' })
  await admin.chat('hello', { 'session-id': 's2', 'request-id': 'r2' })
  const read = (path: string) => admin.request('GET', `/core/v1/${path}`)
  for (const path of ['sessions/s2', 'runs/r2', 'runs/r2/trace']) assert.equal((await read(path)).status, 200)
  assert.deepEqual(actionsIn(await list(auditor, '?actor=root')), [], 'own data')
  for (const path of ['sessions/s1', 'runs/r1', 'runs/r1/trace', 'runs/r1/stream', 'sessions']) assert.equal((await read(path)).status, 200)
  await admin.request('POST', '/core/v1/sessions/s1/fork', { body: { message_index: 2 } })
  assert.deepEqual((await list(auditor, '?actor=root')).body.events.map(({ target }: any) => target).toReversed(), [
    'session:s1',
    'run:r1',
    'run:r1',
    'run:r1',
    'sessions',
    'session:s1',
  ])
})

test('Audit: a plain chat and reads of own data leave no event', async (t) => {
  const { client, auditor } = await start(t, { config: { audit: { reads: true } } })
  await client.chat('hello', { 'session-id': 's1', 'request-id': 'r1' })
  await client.request('GET', '/core/v1/sessions/s1')
  await client.request('GET', '/core/v1/runs/r1')
  await client.request('GET', '/core/v1/runs/r1/trace')
  assert.deepEqual(actionsIn(await list(auditor, '?actor=ann')), [])
})

async function* toAsync(lines: readonly string[]): AsyncGenerator<string, void> {
  yield* lines
}
