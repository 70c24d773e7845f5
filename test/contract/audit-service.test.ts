import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { openDatabase } from '../../src/store/open.ts'
import { until } from '../fixtures/async-client.ts'
import { openEvents, type StoredEvent } from '../fixtures/audit-events.ts'
import { send, signIn } from '../fixtures/browser.ts'
import { startIdentityProvider } from '../fixtures/identity-provider.ts'
import { createClient } from '../fixtures/service-client.ts'
import { startService } from '../fixtures/service.ts'

const keys = '/core/v1/keys'
const config = '/core/v1/agent/config'
const bea = { sub: 'bea', roles: ['viewer'] }

const briefOf = ({ action, target, outcome, actor, data }: StoredEvent) => ({ action, target, outcome, actor, data })
const actionsOf = (events: StoredEvent[]) => events.map(({ action }) => action)

test('Refusals: those of a caller are one event with their number, which is written at the end of the service', async (t) => {
  const service = await startService(t, { script: {} })
  const { key, claims } = await service.key({ sub: 'ann', tenant: 'acme' })
  const ann = createClient(service.url, key)
  const newEvents = await openEvents(t, service.settings)
  await newEvents()
  for (let n = 0; n < 3; n += 1) assert.equal((await ann.request('GET', keys)).status, 403)
  const admin = await service.as({ sub: 'boss', tenant: 'acme', roles: ['admin'] })
  assert.equal((await admin.request('POST', keys, { body: bea })).status, 201)
  const message = { jsonrpc: '2.0', id: 1, method: 'tasks/cancel', params: { id: 'none' } }
  const viewer = await service.as({ sub: 'vi', tenant: 'acme', roles: ['viewer'] })
  await viewer.request('POST', '/a2a', { body: message, headers: { 'a2a-version': '0.3' } })
  for (let n = 0; n < 2; n += 1)
    assert.equal((await send(service.url, 'POST', '/console/session', { body: { code: 'x'.repeat(43) } })).status, 401)
  assert.deepEqual(actionsOf(await newEvents()), ['key.created'], 'no event is written while requests are refused')
  await service.close(0)
  const events = await newEvents()
  const minutes = events.map(({ data }) => Date.parse((data as { minute: string }).minute))
  assert.ok(minutes.every((minute) => minute % 60_000 === 0 && Date.now() - minute < 180_000))
  const counted = events.map((event) => ({ ...briefOf(event), tenant: event.tenant, data: (event.data as { count: number }).count }))
  const refused = { outcome: 'refused', tenant: 'acme' }
  const api = { issuer: 'agent-core', via: 'api' }
  assert.deepEqual(
    counted.toSorted((a, b) => (a.target < b.target ? -1 : 1)),
    [
      {
        ...refused,
        action: 'console.signed_in',
        target: 'console',
        tenant: 'default',
        actor: { issuer: 'unknown', sub: 'unknown', jti: null, via: 'console' },
        data: 2,
      },
      { ...refused, action: 'access.denied', target: 'permission:chat', actor: { ...api, sub: 'vi', jti: counted[1]!.actor.jti }, data: 1 },
      { ...refused, action: 'access.denied', target: 'permission:keys.manage', actor: { ...api, sub: 'ann', jti: claims.jti }, data: 3 },
    ],
  )
})

test('Ledger off: nothing is recorded but the change that switches the ledger off or on', async (t) => {
  const service = await startService(t, { script: {}, config: { audit: { enabled: false } } })
  const admin = await service.as({ sub: 'root', roles: ['admin'] })
  const newEvents = await openEvents(t, service.settings)
  const change = (configuration: object) => admin.request('PUT', config, { body: { configuration } })
  const create = () => admin.request('POST', keys, { body: bea })
  await create()
  await change({ description: 'quiet' })
  assert.deepEqual(await newEvents(), [])
  await change({ audit: { enabled: true } })
  await create()
  await change({ audit: { enabled: false } })
  await create()
  assert.deepEqual(actionsOf(await newEvents()), ['configuration.changed', 'key.created', 'configuration.changed'])
})

test('Edits of agent.yaml: the process that takes an edit over records the change as the service', async (t) => {
  const service = await startService(t, { script: {} })
  const { agentConfig } = service.settings
  const newEvents = await openEvents(t, service.settings)
  const [seed, ...others] = (await newEvents()).filter(({ action }) => action === 'configuration.changed')
  assert.deepEqual(others, [])
  const first = service.service.agent.version
  const actor = { issuer: 'agent-core', sub: 'service', jti: null, via: 'service' }
  const changed = (kind: string, versions: { from: string | null; to: string }, diff: string[]) => {
    return { action: 'configuration.changed', target: 'configuration', outcome: 'success', actor, data: { kind, ...versions, diff } }
  }
  assert.deepEqual(briefOf(seed!), changed('seed', { from: null, to: first }, []))
  const text = await readFile(agentConfig, 'utf8')
  await writeFile(agentConfig, `${text}description: Edited by hand.\n`)
  const [edit] = await until(newEvents, (events) => events.length > 0)
  const second = service.service.agent.version
  assert.deepEqual(briefOf(edit!), changed('edit', { from: first, to: second }, ['description']))
  assert.equal(edit!.configVersion, second)
  assert.ok(!JSON.stringify(edit).includes('Edited by hand'))
  await service.close(0)
  await writeFile(agentConfig, `${text}name: Other\n`)
  await service.restart()
  const started = (await newEvents()).filter(({ action }) => action === 'configuration.changed')
  assert.deepEqual(started.map(briefOf), [changed('edit', { from: second, to: service.service.agent.version }, ['description', 'name'])])
})

test('Schedules: a schedule whose key is revoked does not fire, and the refusal is recorded for the owner', async (t) => {
  const service = await startService(t, { script: { text: ['Four.'] } })
  const old = await service.key({ sub: 'ann' })
  const newEvents = await openEvents(t, service.settings)
  const request = { messages: [{ role: 'user', content: 'How much was sold?' }] }
  const created = await createClient(service.url, old.key).request('POST', '/core/v1/schedules', {
    body: { cron: '0 9 * * *', timezone: 'UTC', request },
  })
  assert.equal(created.status, 201, created.text)
  await service.revoke(old.claims)
  await newEvents()
  const trigger = await (await service.as({ sub: 'ann' })).request('POST', `/core/v1/schedules/${created.body.id}/trigger`)
  assert.deepEqual([trigger.status, trigger.body], [200, { outcome: 'refused', reason: 'key_revoked' }])
  const events = await newEvents()
  const data = { reason: 'key_revoked', scheduled_for: (events[0]!.data as { scheduled_for: string }).scheduled_for }
  const actor = { issuer: 'agent-core', sub: 'ann', jti: old.claims.jti, via: 'service' }
  assert.deepEqual(events.map(briefOf), [
    { action: 'schedule.refused', target: `schedule:${created.body.id}`, outcome: 'refused', actor, data },
  ])
})

test('Console: a sign-in at the identity provider is recorded with the caller of the provider, in its tenant', async (t) => {
  const provider = await startIdentityProvider(t)
  const service = await startService(t, { script: {}, environment: provider.environment })
  const newEvents = await openEvents(t, service.settings)
  await newEvents()
  const [verifier, redirect] = ['v'.repeat(43), 'http://127.0.0.1:8080/console/sign-in']
  const code = provider.authorize(verifier, redirect, { sub: 'bea', roles: ['viewer'] })
  const browser = await signIn(service.url, { authorization_code: code, code_verifier: verifier, redirect_uri: redirect })
  assert.equal((await browser.send('DELETE', '/console/session')).status, 204)
  const events = await newEvents()
  assert.deepEqual(
    events.map(({ tenant, action, actor, data }) => ({ tenant, action, issuer: actor.issuer, sub: actor.sub, via: actor.via, data })),
    [
      {
        tenant: 'acme',
        action: 'console.signed_in',
        issuer: provider.issuer,
        sub: 'bea',
        via: 'console',
        data: { method: 'identity_provider' },
      },
      { tenant: 'acme', action: 'console.signed_out', issuer: provider.issuer, sub: 'bea', via: 'console', data: null },
    ],
  )
})

test('A chat is no act: no event is recorded, and the table of events stays as it is', async (t) => {
  const service = await startService(t, { script: { text: ['Four.'] } })
  const newEvents = await openEvents(t, service.settings)
  await newEvents()
  assert.equal((await service.client.chat('2 + 2?')).status, 200)
  assert.equal((await service.client.request('GET', '/core/v1/sessions')).status, 200)
  assert.deepEqual(await newEvents(), [])
})

test('A change of agent.yaml whose record fails is in effect without an event, and the log says so', async (t) => {
  const service = await startService(t, { script: {} })
  const admin = await service.as({ sub: 'root', roles: ['admin'] })
  const newEvents = await openEvents(t, service.settings)
  const database = await openDatabase(service.settings)
  t.after(() => database.close())
  await newEvents()
  const kill = "create trigger kill_act before insert on audit_events begin select raise(abort, 'killed'); end"
  await database.all.unit((connection) => connection.execute(kill, []))
  const reply = await admin.request('PUT', config, { body: { configuration: { description: 'Other.' } } })
  assert.equal(reply.status, 200, reply.text)
  assert.equal((await admin.request('GET', config)).body.configuration.description, 'Other.')
  assert.deepEqual(await newEvents(), [])
  assert.ok(service.log.some((line) => line.includes('The version could not be added to the history of the configuration')))
})
