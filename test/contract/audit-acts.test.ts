import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openEvents, type StoredEvent } from '../fixtures/audit-events.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { startService, type TestService } from '../fixtures/service.ts'
import { createClient, type Client } from '../fixtures/service-client.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

const databases = [
  { name: 'SQLite', environment: async () => ({}) },
  { name: 'Postgres', environment: async () => ({ DATABASE_URL: await server.createDatabase(), SECRET_KEY: 'x'.repeat(32) }) },
]

/** What the acts of one service share. */
interface World {
  service: TestService
  admin: Client
  /** Ids and versions that later acts need. */
  kept: Map<string, string>
}

/** An act, and what the ledger has of the act. */
interface ActCase {
  title: string
  act(world: World): Promise<{ status: number; text: string }>
  status: number
  /** Absent: the act is refused or changes nothing, and leaves no event. */
  event?: (world: World) => Pick<StoredEvent, 'action' | 'target'> & Partial<Pick<StoredEvent, 'data' | 'configVersion'>>
}

const keys = '/core/v1/keys'

const acts: ActCase[] = [
  {
    title: 'a key is created',
    async act({ admin, kept }) {
      const reply = await admin.request('POST', keys, { body: { sub: 'bea', roles: ['viewer'], expires: '2h' } })
      kept.set('key', reply.body.jti).set('expires', reply.body.expires_at)
      return reply
    },
    status: 201,
    event: ({ kept }) => ({
      action: 'key.created',
      target: `key:${kept.get('key')}`,
      data: { sub: 'bea', roles: ['viewer'], expires_at: kept.get('expires') },
    }),
  },
  {
    title: 'a key with an unknown role is not created',
    act: ({ admin }) => admin.request('POST', keys, { body: { sub: 'bea', roles: ['none'] } }),
    status: 422,
  },
  {
    title: 'a key is revoked',
    act: ({ admin, kept }) => admin.request('DELETE', `${keys}/${kept.get('key')}`),
    status: 200,
    event: ({ kept }) => ({
      action: 'key.revoked',
      target: `key:${kept.get('key')}`,
      data: { sub: 'bea', roles: ['viewer'], expires_at: kept.get('expires') },
    }),
  },
  {
    title: 'a revoked key is revoked again',
    act: ({ admin, kept }) => admin.request('DELETE', `${keys}/${kept.get('key')}`),
    status: 200,
  },
  {
    title: 'a key that does not exist is not revoked',
    act: ({ admin }) => admin.request('DELETE', `${keys}/019ab3c4-5d6e-7f80-9a1b-2c3d4e5f6071`),
    status: 404,
  },
]

for (const { name, environment } of databases) {
  test(`Acts: each leaves one event with who acted, in which version, on ${name}`, async (t) => {
    const service = await startService(t, { script: {}, environment: await environment() })
    const { key, claims } = await service.key({ sub: 'root', roles: ['admin'] })
    const world: World = { service, admin: createClient(service.url, key), kept: new Map() }
    const newEvents = await openEvents(t, service.settings)
    assert.ok((await newEvents()).every(({ actor }) => actor.via === 'service'))
    for (const { title, act, status, event } of acts)
      await t.test(title, async () => {
        const reply = await act(world)
        assert.equal(reply.status, status, reply.text)
        const actor = { issuer: 'agent-core', sub: 'root', jti: claims.jti, via: 'api' }
        const common = { tenant: 'default', outcome: 'success', actor, configVersion: service.service.agent.version }
        const recorded = (await newEvents()).map(({ id: _, ...rest }) => rest)
        assert.deepEqual(recorded, event ? [{ ...common, ...event(world) }] : [])
      })
  })
}
