import assert from 'node:assert/strict'
import { after, before, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createFolder, runIn } from '../../src/cli/terminal-fixture.ts'
import { send, signIn, type Browser } from '../fixtures/browser.ts'
import { startPostgres, type PostgresServer } from '../fixtures/postgres-server.ts'
import { createClient } from '../fixtures/service-client.ts'
import { startService, type TestService } from '../fixtures/service.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

/** Behind one address, as a load balancer has it: the cookie is the same at both replicas. */
async function startTwo(t: TestContext) {
  const environment = {
    DATABASE_URL: await server.createDatabase(),
    SECRET_KEY: 's'.repeat(32),
    PUBLIC_URL: 'https://agents.example',
  }
  const a = await startService(t, { script: {}, environment })
  return { a, b: await startService(t, { script: {}, environment }), environment }
}

async function statusAt({ url }: TestService, { cookie }: Browser): Promise<number> {
  return (await send(url, 'GET', '/core/v1/me', { headers: { cookie } })).status
}

async function endsAt(service: TestService, browser: Browser): Promise<number> {
  const startedAt = performance.now()
  while ((await statusAt(service, browser)) === 200) {
    assert.ok(performance.now() - startedAt < 5000, 'the session ends within 5 s')
    await sleep(25)
  }
  return performance.now() - startedAt
}

test('Console: of uses of a code at two replicas one opens a session, which counts at both', async (t) => {
  const { a, b } = await startTwo(t)
  const { key } = await a.key()
  for (let round = 0; round < 5; round += 1) {
    const { body } = await createClient(a.url, key).request('POST', '/console/code')
    const credential = { body: { code: body.code } }
    const uses = await Promise.all([a, b, a, b].map(({ url }) => send(url, 'POST', '/console/session', credential)))
    assert.deepEqual(
      uses.map(({ status }) => status).toSorted((x, y) => x - y),
      [201, 401, 401, 401],
    )
    const cookie = uses
      .find(({ status }) => status === 201)!
      .headers.get('set-cookie')!
      .split(';')[0]!
    for (const { url } of [a, b]) assert.equal((await send(url, 'GET', '/core/v1/me', { headers: { cookie } })).status, 200)
  }
})

test('Console: a sign-out and a revocation at one replica end the session at the other within 5 s', async (t) => {
  const { a, b } = await startTwo(t)
  const { key, claims } = await a.key()
  const [first, second] = [await signIn(a.url, { key }), await signIn(a.url, { key })]
  for (const browser of [first, second]) assert.deepEqual([await statusAt(a, browser), await statusAt(b, browser)], [200, 200])
  assert.equal((await first.send('DELETE', '/console/session')).status, 204)
  assert.equal(await statusAt(a, first), 401)
  await endsAt(b, first)
  assert.equal(await statusAt(b, second), 200)
  await a.revoke(claims)
  await Promise.all([endsAt(a, second), endsAt(b, second)])
})

test('Console: the command line stores a code for the administrator in the shared database', async (t) => {
  const { a, b, environment } = await startTwo(t)
  const folder = await createFolder(t)
  const { code, out, err } = await runIn(folder, ['console'], environment)
  assert.deepEqual({ code, err }, { code: 0, err: 'Open the address in a browser within a minute. It works once.\n' })
  const [, oneTimeCode] = /^https:\/\/agents\.example\/console\/sign-in#code=([\w-]{43})\n$/.exec(out) ?? []
  const browser = await signIn(b.url, { code: oneTimeCode })
  assert.deepEqual((await send(a.url, 'GET', '/core/v1/me', { headers: { cookie: browser.cookie } })).body.roles, ['admin'])
})
