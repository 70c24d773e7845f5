import assert from 'node:assert/strict'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { send, signIn } from '../fixtures/browser.ts'
import { createClient } from '../fixtures/service-client.ts'
import { startService, type TestService } from '../fixtures/service.ts'

const session = '/console/session'

/** Rows of a table of the service, and a way to change them. */
function openRows({ settings }: TestService) {
  return new DatabaseSync(path.join(settings.dataDir, 'agent-core.db'))
}

async function makeCode({ url }: TestService, key: string): Promise<string> {
  const made = await createClient(url, key).request('POST', '/console/code')
  assert.equal(made.status, 201, made.text)
  assert.ok(Date.parse(made.body.expires_at) - Date.now() <= 60_000)
  return made.body.code
}

test('Console: a key opens a session that has the rights of the key, with a token for changes', async (t) => {
  const { url, key } = await startService(t, { script: [{ text: 'hello' }] })
  const { key: user, claims } = await key({ sub: 'bea' })
  const browser = await signIn(url, { key: user })
  const { body: me } = await browser.send('GET', '/core/v1/me')
  assert.deepEqual({ sub: me.sub, roles: me.roles }, { sub: 'bea', roles: ['user'] })
  assert.equal(Date.parse(me.expires_at), claims.exp * 1000)
  const chat = await browser.send('POST', '/core/v1/chain', { body: { messages: [{ role: 'user', content: 'hi' }] } })
  assert.equal(chat.body.body.output, 'hello')
  const stream = await browser.send('GET', `/core/v1/runs/${chat.headers.get('request-id')}/stream`)
  assert.equal(stream.headers.get('content-type')?.split(';')[0], 'text/event-stream')
  assert.equal((await browser.send('GET', '/core/v1/keys')).status, 403)
  assert.equal((await createClient(url, user).request('GET', '/core/v1/me')).body.csrf_token, undefined)
})

test('Console: the cookie is opaque, unreadable for scripts and bound to the address of the service', async (t) => {
  const { url, key, log } = await startService(t, { script: {} })
  const { key: user } = await key({ expiresInSeconds: 600 })
  const cookieFor = async (headers: Record<string, string> = {}) => {
    const opened = await send(url, 'POST', session, { body: { key: user }, headers })
    assert.equal(opened.headers.get('cache-control'), 'no-store')
    assert.ok(!opened.text.includes('csrf'))
    const [pair = '', ...flags] = opened.headers.get('set-cookie')!.split('; ')
    const [name, value = ''] = pair.split('=')
    assert.match(value, /^[\w-]{43}$/)
    assert.ok(!log.join('').includes(value))
    return { name, flags: flags.filter((flag) => !flag.startsWith('Max-Age')), maxAge: flags.find((flag) => flag.startsWith('Max-Age')) }
  }
  const plain = await cookieFor()
  assert.match(plain.name!, /^agent_core_[0-9a-f]{8}$/)
  assert.deepEqual(plain.flags.toSorted(), ['HttpOnly', 'Path=/', 'SameSite=Strict'])
  assert.ok(Number(plain.maxAge?.split('=')[1]) <= 600)
  const prefixed = await cookieFor({ 'x-forwarded-prefix': '/agents' })
  assert.notEqual(prefixed.name, plain.name)
  assert.ok(prefixed.flags.includes('Path=/agents/'))
  const secure = await cookieFor({ 'x-forwarded-proto': 'https' })
  assert.equal(secure.name, '__Host-agent_core')
  assert.deepEqual(secure.flags.toSorted(), ['HttpOnly', 'Path=/', 'SameSite=Strict', 'Secure'])
  for (const forged of ['//evil.example', '/a; Domain=evil.example', '/..', 'agents']) {
    assert.deepEqual((await cookieFor({ 'x-forwarded-prefix': forged })).flags, plain.flags, forged)
  }
})

test('Console: PUBLIC_URL names the cookie, whatever the headers of a request say', async (t) => {
  for (const [publicUrl, name, scope, prefix] of [
    // Without a path in PUBLIC_URL, a valid header names the prefix.
    ['https://agents.example', '__Host-agent_core', 'Path=/', '//other'],
    ['https://agents.example/base', '__Secure-agent_core', 'Path=/base/', '/other'],
  ] as const) {
    const { url, key } = await startService(t, { script: {}, environment: { PUBLIC_URL: publicUrl } })
    const forged = { 'x-forwarded-prefix': prefix, 'x-forwarded-proto': 'http' }
    const browser = await signIn(url, { key: (await key()).key }, forged)
    const [pair = '', ...flags] = browser.setCookie.split('; ')
    assert.equal(pair.split('=')[0], name)
    assert.ok(flags.includes(scope) && flags.includes('Secure'), browser.setCookie)
    const origin = 'https://agents.example'
    const { cookie } = browser
    const bare = (headers: Record<string, string>) => fetch(`${url}/core/v1/me`, { headers: { cookie, ...headers } })
    assert.equal((await bare({ origin })).status, 200)
    assert.equal((await bare({ origin: new URL(url).origin })).status, 403)
  }
})

test('Console: requests of other sites, ports and sibling hosts are 403, on every method', async (t) => {
  const { url, key } = await startService(t, { script: {} })
  const { cookie, csrfToken } = await signIn(url, { key: (await key()).key })
  const own = new URL(url).origin
  const statusOf = async (method: string, headers: Record<string, string>) => {
    const token = { 'x-csrf-token': csrfToken }
    const reply = await fetch(`${url}/core/v1/sessions${method === 'GET' ? '' : '/none'}`, {
      method,
      headers: { cookie, ...token, ...headers },
    })
    if (reply.status === 403) assert.match(await reply.text(), /The console takes requests of its own page only/)
    return reply.status
  }
  const foreign: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': '' },
    { 'sec-fetch-site': 'cross-site', origin: own },
    { origin: 'https://evil.example' },
    { origin: 'http://127.0.0.1:1' },
    { origin: own.replace('http:', 'https:') },
    { origin: 'null' },
    { referer: 'https://evil.example/' },
    { referer: `${own}.evil.example/` },
    {},
  ]
  for (const headers of foreign) {
    for (const method of ['GET', 'DELETE']) assert.equal(await statusOf(method, headers), 403, `${method} ${JSON.stringify(headers)}`)
  }
  const ownPages: Record<string, string>[] = [{ 'sec-fetch-site': 'same-origin' }, { origin: own }]
  for (const headers of ownPages) {
    assert.deepEqual([await statusOf('GET', headers), await statusOf('DELETE', headers)], [200, 404], JSON.stringify(headers))
  }
  // Over plain http browsers state no site, and reads have no origin: the page's address stands in for it, on reads only.
  assert.deepEqual(
    [await statusOf('GET', { referer: `${own}/console/` }), await statusOf('DELETE', { referer: `${own}/console/` })],
    [200, 403],
  )
})

test('Console: a sign-in from another origin is 403 and opens nothing; a program without a browser may sign in', async (t) => {
  const service = await startService(t, { script: {} })
  const { key } = await service.key()
  for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-site' }]) {
    const refused = await send(service.url, 'POST', session, { body: { key }, headers })
    assert.deepEqual([refused.status, refused.headers.get('set-cookie')], [403, null])
  }
  const headers = { 'content-type': 'application/json' }
  const post = (more: object) =>
    fetch(service.url + session, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify({ key }) })
  assert.equal((await post({ origin: 'https://evil.example' })).status, 403)
  assert.equal((await post({})).status, 201)
  // A form of another site cannot send JSON without a preflight.
  for (const type of ['application/x-www-form-urlencoded', 'text/plain']) assert.equal((await post({ 'content-type': type })).status, 415)
  const rows = openRows(service)
  assert.equal(rows.prepare('select count(*) as n from console_sessions').get()?.['n'], 1)
  rows.close()
})

test('Console: a change without the right token is 403 with a reason, and changes nothing', async (t) => {
  const { url, key } = await startService(t, { script: {} })
  const { key: user } = await key()
  const [browser, other] = [await signIn(url, { key: user }), await signIn(url, { key: user })]
  const make = (token?: string) => {
    const headers = { cookie: browser.cookie, ...(token !== undefined && { 'x-csrf-token': token }) }
    return send(url, 'POST', '/core/v1/chain/sub_agents', { body: { name: 'x' }, headers })
  }
  for (const token of [undefined, '', 'x', other.csrfToken, browser.csrfToken.slice(1), `${browser.csrfToken}x`]) {
    const refused = await make(token)
    assert.equal(refused.status, 403)
    assert.match(refused.body.body, /x-csrf-token is (missing|wrong)/)
  }
  assert.deepEqual((await browser.send('GET', '/core/v1/chain/sub_agents')).body.sub_agents, [])
  assert.equal((await make(browser.csrfToken)).status, 200)
  assert.equal((await send(url, 'DELETE', session, { headers: { cookie: browser.cookie } })).status, 403)
  assert.equal((await browser.send('GET', '/core/v1/me')).status, 200)
})

test('Console: a request with a key ignores the cookie, also when the key is not valid', async (t) => {
  const { url, key } = await startService(t, { script: {} })
  const browser = await signIn(url, { key: (await key({ sub: 'bea' })).key })
  const { key: other } = await key({ sub: 'cyd' })
  const keys: Record<string, string>[] = [{ 'x-service-access': other }, { authorization: `Bearer ${other}` }]
  for (const headers of keys) {
    // No cross-site rule holds for a key: it is no ambient authority.
    const { status, body } = await browser.send('GET', '/core/v1/me', { headers: { ...headers, 'sec-fetch-site': 'cross-site' } })
    assert.deepEqual({ status, sub: body.sub, token: body.csrf_token }, { status: 200, sub: 'cyd', token: undefined })
  }
  const wrong: Record<string, string>[] = [
    { 'x-service-access': 'x' },
    { 'x-service-access': '' },
    { authorization: 'Bearer x' },
    { authorization: 'Basic eDp5' },
  ]
  for (const headers of wrong) {
    assert.equal((await browser.send('GET', '/core/v1/me', { headers })).status, 401, JSON.stringify(headers))
    assert.equal((await browser.send('DELETE', session, { headers })).status, 401, JSON.stringify(headers))
  }
  assert.equal((await browser.send('GET', '/core/v1/me')).body.sub, 'bea')
})

test('Console: the cookie opens no other door', async (t) => {
  const { url, key } = await startService(t, { script: {} })
  const browser = await signIn(url, { key: (await key({ roles: ['admin'] })).key })
  const doors = [
    ['GET', '/metrics'],
    ['GET', '/v1/models'],
    ['POST', '/v1/chat/completions'],
    ['POST', '/v1/responses'],
    ['POST', '/v1/messages'],
    ['POST', '/mcp'],
    ['POST', '/a2a'],
    // A session must not make another session, which would outlive a sign-out.
    ['POST', '/console/code'],
  ] as const
  for (const [method, door] of doors) {
    const { status, text } = await browser.send(method, door, method === 'POST' ? { body: {} } : {})
    assert.equal(status, 401, `${door} ${text}`)
  }
})

test('Console: a code opens one session of its key, also when it is used many times at once', async (t) => {
  const service = await startService(t, { script: {} })
  const { key, claims } = await service.key({ sub: 'bea', expiresInSeconds: 900 })
  const code = await makeCode(service, key)
  const uses = await Promise.all(Array.from({ length: 12 }, () => send(service.url, 'POST', session, { body: { code } })))
  const opened = uses.filter(({ status }) => status === 201)
  assert.equal(opened.length, 1)
  assert.equal(Date.parse(opened[0]!.body.expires_at), claims.exp * 1000)
  const refused = uses.filter(({ status }) => status !== 201)
  assert.deepEqual(new Set(refused.map(({ status, text }) => `${status} ${text}`)).size, 1)
  const late = await makeCode(service, key)
  const rows = openRows(service)
  rows.exec('pragma busy_timeout = 2000; update console_codes set expires_at = 1 where used_at is null')
  const stored = JSON.stringify([rows.prepare('select * from console_codes').all(), rows.prepare('select * from console_sessions').all()])
  rows.close()
  const never = 'A'.repeat(43)
  for (const wrong of [late, never, code, '', 'x', `${code}=`]) {
    const { status, text } = await send(service.url, 'POST', session, { body: { code: wrong } })
    assert.deepEqual({ status, text }, { status: refused[0]!.status, text: refused[0]!.text }, wrong)
  }
  const value = opened[0]!.headers.get('set-cookie')!.split(/[=;]/)[1]!
  for (const secret of [code, late, value, key]) {
    assert.ok(!stored.includes(secret) && !service.log.join('').includes(secret), 'no secret is stored or logged')
  }
})

test('Console: a code of a revoked key opens nothing, and the sessions of a revoked key end', async (t) => {
  const service = await startService(t, { script: {} })
  const admin = await service.as({ sub: 'root', roles: ['admin'] })
  const { body: made } = await admin.request('POST', '/core/v1/keys', { body: { sub: 'bea', roles: ['viewer'] } })
  const browser = await signIn(service.url, { key: made.key })
  const code = await makeCode(service, made.key)
  assert.equal((await admin.request('DELETE', `/core/v1/keys/${made.jti}`)).status, 200)
  const ended = await browser.send('GET', '/core/v1/me')
  assert.deepEqual([ended.status, /has ended: sign in again/.test(ended.text)], [401, true])
  assert.equal((await send(service.url, 'POST', session, { body: { code } })).status, 401)
  assert.equal((await send(service.url, 'POST', session, { body: { key: made.key } })).status, 401)
  // A session of a key that the register does not know ends with its revocation as well.
  const { key, claims } = await service.key({ sub: 'cyd' })
  const unlisted = await signIn(service.url, { key })
  await service.revoke(claims)
  const until = Date.now() + 5000
  while ((await unlisted.send('GET', '/core/v1/me')).status === 200 && Date.now() < until) await sleep(50)
  assert.equal((await unlisted.send('GET', '/core/v1/me')).status, 401)
})

test('Console: a session ends when its key expires', async (t) => {
  const { url, key } = await startService(t, { script: {} })
  const { key: brief, claims } = await key({ expiresInSeconds: 2 })
  const browser = await signIn(url, { key: brief })
  await sleep(claims.exp * 1000 - Date.now() + 20)
  assert.equal((await browser.send('GET', '/core/v1/me')).status, 401)
  assert.equal((await send(url, 'POST', session, { body: { key: brief } })).status, 401)
})

test('Console: a sign-out ends the session at once and clears the cookie; a new sign-in ends the session before', async (t) => {
  const { url, key } = await startService(t, { script: {} })
  const { key: user } = await key()
  const browser = await signIn(url, { key: user })
  const out = await browser.send('DELETE', session)
  assert.equal(out.status, 204)
  assert.match(out.headers.get('set-cookie') ?? '', /^agent_core_[0-9a-f]{8}=; Max-Age=0; Path=\/; HttpOnly; SameSite=Strict$/)
  assert.equal((await browser.send('GET', '/core/v1/me')).status, 401)
  assert.equal((await browser.send('DELETE', session)).status, 204)
  assert.equal((await send(url, 'DELETE', session)).status, 401)
  const first = await signIn(url, { key: user })
  const second = await signIn(url, { key: user }, { cookie: first.cookie })
  assert.equal((await first.send('GET', '/core/v1/me', { headers: { cookie: first.cookie } })).status, 401)
  assert.equal((await send(url, 'GET', '/core/v1/me', { headers: { cookie: second.setCookie.split(';')[0]! } })).status, 200)
})

test('Console: a cookie of another prefix or another port is not looked at', async (t) => {
  const { url, key } = await startService(t, { script: {} })
  const { key: user } = await key()
  const browser = await signIn(url, { key: user })
  assert.equal((await browser.send('GET', '/core/v1/me', { headers: { 'x-forwarded-prefix': '/agents' } })).status, 401)
  const value = browser.cookie.split('=')[1]
  for (const cookie of [`agent_core_00000000=${value}`, `__Host-agent_core=${value}`, `${browser.cookie}x`, browser.cookie.slice(0, -1)]) {
    assert.equal((await browser.send('GET', '/core/v1/me', { headers: { cookie } })).status, 401, cookie)
  }
  const many = `a=b; ${browser.cookie}; c="d"; =; ;;`
  assert.equal((await browser.send('GET', '/core/v1/me', { headers: { cookie: many } })).status, 200)
})

test('Console: reads of the page do not count against the rate limit, changes do', async (t) => {
  const config = { access: { rate_limits: { user: { requests_per_minute: 2 } } } }
  const { url, key } = await startService(t, { script: {}, config })
  const browser = await signIn(url, { key: (await key()).key })
  for (let n = 0; n < 10; n += 1) assert.equal((await browser.send('GET', '/core/v1/sessions')).status, 200)
  const statuses: number[] = []
  for (let n = 0; n < 3; n += 1) statuses.push((await browser.send('DELETE', '/core/v1/sessions/none')).status)
  assert.deepEqual(statuses, [404, 404, 429])
  assert.equal((await browser.send('GET', '/core/v1/sessions')).status, 200)
})

test('Console: a sign-in needs exactly one credential', async (t) => {
  const { url, key } = await startService(t, { script: {} })
  const { key: user } = await key()
  for (const [body, loc] of [
    [{}, ['body']],
    [{ key: user, code: 'x' }, ['body']],
    [{ authorization_code: 'x' }, ['body', 'code_verifier']],
    [{ authorization_code: 'x', code_verifier: 'y', redirect_uri: 'z' }, ['body', 'authorization_code']],
    [{ key: user, tenant: 'acme' }, ['body', 'tenant']],
    [{ key: 7 }, ['body', 'key']],
  ] as const) {
    const { status, body: reply } = await send(url, 'POST', session, { body })
    assert.deepEqual({ status, loc: reply.detail?.[0].loc }, { status: 422, loc })
  }
  const wrong = await send(url, 'POST', session, { body: { key: `${user}x` } })
  assert.deepEqual([wrong.status, wrong.headers.get('set-cookie')], [401, null])
})

test('Console: codes and sessions of a key are bounded, and what has expired is removed', async (t) => {
  const service = await startService(t, { script: {} })
  const { key } = await service.key()
  const codes: string[] = []
  for (let n = 0; n < 13; n += 1) codes.push(await makeCode(service, key))
  const rows = openRows(service)
  rows.exec('pragma busy_timeout = 2000')
  const count = (table: string) => Number(rows.prepare(`select count(*) as n from ${table}`).get()?.['n'])
  assert.equal(count('console_codes'), 10)
  assert.equal((await send(service.url, 'POST', session, { body: { code: codes[0] } })).status, 401)
  await signIn(service.url, { code: codes[12] })
  rows.exec(
    "update console_codes set expires_at = 1; update console_sessions set expires_at = 1; update jobs set due_at = 0 where kind = 'retention'",
  )
  const until = Date.now() + 20_000
  while (count('console_codes') + count('console_sessions') > 0 && Date.now() < until) await sleep(100)
  assert.deepEqual([count('console_codes'), count('console_sessions')], [0, 0])
  rows.close()
})
