import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import {
  startAuthorizationServer,
  startProtectedMcpServer,
  type AuthorizationServer,
} from '../../../../test/fixtures/authorization-server.ts'
import { anyRevision, createLoginMemory, type LoginStore } from '../../../configuration/mcp/login-store.ts'
import { serverKey } from '../../../configuration/mcp/pin-store.ts'
import { createGuardedFetch } from '../../../outbound/guarded-fetch.ts'
import { createOAuthFetch, createSend } from '../bounded-messages.ts'
import { connectServer, until } from '../mcp-fixture.ts'
import { logIn } from './flow.ts'

async function start(t: TestContext) {
  const authorization = await startAuthorizationServer()
  t.after(() => authorization.close())
  const server = await startProtectedMcpServer(authorization)
  t.after(() => server.close())
  const outbound = createGuardedFetch({ allowed: ['127.0.0.1'] })
  t.after(() => outbound.close())
  const logins = createLoginMemory()
  const key = { entry: 's', server: serverKey({ url: server.url }) }
  const connect = () => connectServer(t, { config: { url: server.url }, logins, outbound })
  const remote = { url: new URL(server.url), headers: {} }
  const fetchFn = createOAuthFetch(createSend(remote, { outbound, onTooLong: () => undefined }))
  const login = async () => logins.save(key, await toLogin(authorization, { server: remote, fetchFn }), anyRevision)
  const stored = async () => (await logins.find(key))?.login
  return { authorization, server, logins, key, connect, login, stored }
}

function toLogin(authorization: AuthorizationServer, options: Pick<Parameters<typeof logIn>[0], 'server' | 'fetchFn'>) {
  return logIn({
    ...options,
    redirectUrl: 'http://127.0.0.1:1/callback',
    missingScope: undefined,
    now: Date.now,
    async authorize(url) {
      assert.equal(url.origin, authorization.url)
      const { headers } = await fetch(url, { redirect: 'manual' })
      return new URL(headers.get('location') ?? '').searchParams
    },
  })
}

function renewals({ tokenRequests }: AuthorizationServer): number {
  return tokenRequests.filter((form) => form.get('grant_type') === 'refresh_token').length
}

test('a server that requires a login names the command, and is used once a person has logged in', async (t) => {
  const { connect, login, server } = await start(t)
  const { group, call, log } = await connect()
  assert.equal(group.unavailableReason?.(), 'The server requires a login (401): run "agent-core tool login s", or set headers or oauth.')
  assert.deepEqual(group.tools(), [])
  await login()
  await until(() => group.unavailableReason?.() === undefined)
  assert.equal((await call('moody')).output, 'sunny')
  assert.equal(server.requests.at(-1)?.headers.authorization?.startsWith('Bearer access-'), true)
  assert.doesNotMatch(log.join(''), /access-|refresh-/)
})

test('a refused token is renewed once for all replicas, although refresh tokens work once', async (t) => {
  const { authorization, connect, login } = await start(t)
  await login()
  const replicas = await Promise.all([connect(), connect(), connect()])
  authorization.delayMs = 100
  authorization.expireAll()
  const outcomes = await Promise.all(replicas.flatMap(({ call }) => [call('moody'), call('moody')]))
  assert.deepEqual(
    outcomes.map(({ output }) => output),
    Array.from({ length: 6 }, () => 'sunny'),
  )
  assert.equal(renewals(authorization), 1)
})

test('a token is renewed before its expiry', async (t) => {
  const { authorization, connect, login, stored } = await start(t)
  authorization.lifetime = 10
  await login()
  const first = (await stored())?.accessToken
  authorization.lifetime = 3600
  const { call } = await connect()
  assert.equal((await call('moody')).output, 'sunny')
  assert.equal(renewals(authorization), 1)
  assert.notEqual((await stored())?.accessToken, first)
})

test('a renewal that a dead process has begun is taken over after its time', async (t) => {
  const { authorization, connect, login, logins, key, stored } = await start(t)
  await login()
  const { call } = await connect()
  authorization.expireAll()
  const renewingUntil = Date.now() + 400
  await logins.save(key, { ...(await stored())!, renewingUntil }, anyRevision)
  assert.equal((await call('moody')).output, 'sunny')
  assert.ok(Date.now() >= renewingUntil)
})

test('a login that cannot be renewed asks for another, and another login is used at once', async (t) => {
  const { authorization, connect, login, stored } = await start(t)
  await login()
  const { call, group } = await connect()
  authorization.revokeAll()
  assert.match((await call('moody')).text, /The login at the server has ended: run .{1,2}agent-core tool login s.{1,2} again\./)
  assert.equal((await stored())?.isOver, true)
  await login()
  await until(() => group.unavailableReason?.() === undefined)
  await until(async () => (await call('moody')).output === 'sunny')
})

test('tokens are sent to the server of the login alone', async (t) => {
  const { connect, login, logins, key, stored } = await start(t)
  await login()
  await logins.save(key, { ...(await stored())!, url: 'https://other.example/mcp' }, anyRevision)
  const { group } = await connect()
  assert.match(group.unavailableReason?.() ?? '', /requires a login/)
})

test('scopes that the server misses are requested by the next login', async (t) => {
  const { server, connect, login, stored } = await start(t)
  await login()
  const { call } = await connect()
  const { intercept } = server
  server.intercept = (request, response, body) => {
    if (body?.method !== 'tools/call') return intercept(request, response, body)
    response.writeHead(403, { 'www-authenticate': 'Bearer error="insufficient_scope", scope="tools.write"' }).end()
    return true
  }
  assert.match(
    (await call('moody')).text,
    /requires the scopes tools\.write .*which the login does not have: run .{1,2}agent-core tool login s.{1,2} again/,
  )
  assert.equal((await stored())?.missingScope, 'tools.read tools.write')
})

/** The store is only as good as its atomic replacement. */
test('of two processes that replace the same login one is refused', async () => {
  const store: LoginStore = createLoginMemory()
  const key = { entry: 's', server: 'k' }
  const login = {
    url: 'u',
    authorizationServer: { issuer: 'i', tokenEndpoint: 't' },
    client: { id: 'c' },
    accessToken: 'a',
    loggedInAt: 0,
  }
  assert.notEqual(await store.save(key, login, undefined), undefined)
  assert.equal(await store.save(key, login, undefined), undefined)
})
