import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { startSite, type Site } from '../web/web-fixture.ts'
import { documentOf, openApi, operationOf } from './openapi-fixture.ts'

const securitySchemes = {
  inHeader: { type: 'apiKey', in: 'header', name: 'X-Key' },
  inQuery: { type: 'apiKey', in: 'query', name: 'key' },
  inCookie: { type: 'apiKey', in: 'cookie', name: 'sid' },
  basic: { type: 'http', scheme: 'basic' },
  bearer: { type: 'http', scheme: 'bearer' },
  openId: { type: 'openIdConnect', openIdConnectUrl: 'https://id.example' },
  digest: { type: 'http', scheme: 'digest' },
}

function secured(server: string, security: object[] | undefined, more: object = securitySchemes): object {
  const list = { name: 'q', in: 'query', explode: false, schema: { type: 'array', items: { type: 'string' } } }
  const paths = { '/a': { get: operationOf('getA', [list], security && { security }), post: operationOf('makeA', [], { security: [] }) } }
  return documentOf(server, paths, { components: { securitySchemes: more } })
}

const echo = (t: TestContext) => startSite(t, (_, response) => response.end())

test('credentials are sent as defined by their security scheme', async (t) => {
  const site = await echo(t)
  const sent = async (scheme: string, credential: string) => {
    const api = await openApi(t, { document: secured(site.origin, [{ [scheme]: [] }]), config: { credentials: { [scheme]: credential } } })
    await api.run('getA', { q: ['a', 'b'] })
    return site.requests.at(-1)!
  }
  assert.equal((await sent('inHeader', 'k-1')).headers['x-key'], 'k-1')
  assert.equal((await sent('inQuery', 'k&1')).url, '/a?q=a,b&key=k%261')
  assert.equal((await sent('inCookie', 'k 1')).headers['cookie'], 'sid=k%201')
  assert.equal((await sent('basic', 'ann:pass:word')).headers['authorization'], `Basic ${btoa('ann:pass:word')}`)
  assert.equal((await sent('bearer', 'token-1')).headers['authorization'], 'Bearer token-1')
  assert.equal((await sent('openId', 'Bearer token-1')).headers['authorization'], 'Bearer token-1')
})

test('the first fully configured alternative is used; an operation without security gets no credentials', async (t) => {
  const site = await echo(t)
  const security = [{}, { bearer: [] }, { inHeader: [], inCookie: [] }]
  const config = { credentials: { inHeader: '${KEY}', inCookie: 'c-1' } }
  const api = await openApi(t, { document: secured(site.origin, security), config, environment: { KEY: 'k-1' } })
  await api.run('getA', {})
  await api.run('makeA', {})
  assert.deepEqual(
    site.requests.map(({ headers }) => [headers['x-key'], headers['cookie'], headers['authorization']]),
    [
      ['k-1', 'sid=c-1', undefined],
      [undefined, undefined, undefined],
    ],
  )
  const silent = await openApi(t, { document: secured(site.origin, undefined), config, environment: { KEY: 'k-1' } })
  await silent.run('getA', {})
  assert.equal(site.requests.at(-1)?.headers['x-key'], 'k-1', 'a document that says nothing of security gets what is configured')
})

test('a credential is resolved at each call and never shown', async (t) => {
  const site = await startSite(t, ({ headers, url }, response) =>
    response.writeHead(500, { 'content-type': 'text/plain' }).end([url, headers['authorization'], headers['x-key']].join(' ')),
  )
  const security = [{ basic: [], inHeader: [], inQuery: [] }]
  const config = { credentials: { basic: '${USER}', inHeader: 'header-secret', inQuery: 'query secret/1' } }
  const unset = await openApi(t, { document: secured(site.origin, security), config })
  await assert.rejects(unset.run('getA', {}), { message: 'the environment variable USER is not set' })
  const api = await openApi(t, { document: secured(site.origin, security), config, environment: { USER: 'ann:password-1' } })
  await assert.rejects(api.run('getA', {}), (error: Error) => {
    assert.doesNotMatch(error.message, /password-1|header-secret|query.{1,3}secret|YW5u/)
    return error.message.includes('********')
  })
})

test('a credential for a missing or unsupported scheme makes the build fail', async (t) => {
  const document = secured('http://127.0.0.1:1', [])
  await assert.rejects(
    openApi(t, { document, config: { credentials: { none: 'x' } } }),
    /no security scheme none; it has inHeader, inQuery/,
  )
  await assert.rejects(openApi(t, { document, config: { credentials: { digest: 'x' } } }), /digest \(http digest\) is not supported/)
})

/** Issues tokens `t1`, `t2` ... for `id:se cret`, and accepts the latest token. */
async function tokenSite(t: TestContext, { life = 3600, isBodyOnly = false } = {}): Promise<Site & { revoke(): void }> {
  let count = 0
  let valid = ''
  const site = await startSite(t, ({ url, headers, body }, response) => {
    if (url !== '/token') return void response.writeHead(headers['authorization'] === `Bearer ${valid}` ? 200 : 401).end()
    const isRight = isBodyOnly ? body.includes('client_secret=se+cret') : headers['authorization'] === `Basic ${btoa('id:se+cret')}`
    if (!isRight) return void response.writeHead(401).end('{"error":"invalid_client"}')
    valid = `token-number-${++count}`
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ access_token: valid, expires_in: life }))
  })
  return { ...site, revoke: () => (valid = '') }
}

function oauth(origin: string, tokenUrl = '/token'): object {
  const flows = { clientCredentials: { tokenUrl, scopes: { read: 'r', write: 'w' } } }
  return secured(origin, [{ oauth: ['read', 'write'] }], { oauth: { type: 'oauth2', flows } })
}

const client = { credentials: { oauth: 'id:se cret' } }

test('a token is fetched once with the client credentials, shared, and fetched again after a refusal', async (t) => {
  const site = await tokenSite(t)
  const api = await openApi(t, { document: oauth(site.origin), config: client })
  await Promise.all([api.run('getA', {}), api.run('getA', {}), api.run('getA', {})])
  const tokens = () => site.requests.filter(({ url }) => url === '/token')
  assert.deepEqual(
    tokens().map(({ body }) => body),
    ['grant_type=client_credentials&scope=read+write'],
  )
  site.revoke()
  assert.deepEqual(await api.run('getA', {}), { status: 200 })
  assert.equal(tokens().length, 2)
})

test('a token that has expired is not used', async (t) => {
  const site = await tokenSite(t, { life: 0.2 })
  const api = await openApi(t, { document: oauth(site.origin), config: client })
  await api.run('getA', {})
  await wait(250)
  await api.run('getA', {})
  assert.equal(site.requests.filter(({ url }) => url === '/token').length, 2)
  assert.equal(site.requests.length, 4)
})

test('a server that accepts the client secret only in the body receives it there', async (t) => {
  const site = await tokenSite(t, { isBodyOnly: true })
  const api = await openApi(t, { document: oauth(site.origin), config: client })
  assert.deepEqual(await api.run('getA', {}), { status: 200 })
})

test('a refused token request fails without showing secrets', async (t) => {
  const site = await startSite(t, ({ body }, response) => response.writeHead(400).end(body))
  const api = await openApi(t, { document: oauth(site.origin), config: client })
  await assert.rejects(api.run('getA', {}), (error: Error) => {
    assert.match(error.message, /^No access token was issued by 127.0.0.1:\d+: it answered 400, then 400.$/)
    return true
  })
})

test('credentials are sent only to the origin of the fetched document and to configured addresses', async (t) => {
  const thief = await echo(t)
  let document: object = {}
  const home = await startSite(t, (_, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document)),
  )
  const config = { spec: `${home.origin}/openapi.json`, headers: { 'x-own': 'own-secret' } }
  document = secured(thief.origin, [{ inHeader: [] }])
  const key = { credentials: { inHeader: 'header-secret' } }
  await assert.rejects(
    openApi(t, { config: { ...config, ...key } }),
    /names http:\/\/127.0.0.1:\d+ as the server of getA, which is not the origin of the document: set base_url/,
  )
  await assert.rejects(openApi(t, { config }), /set base_url/)
  // An API without credentials may be called at any public address, and does not receive the context of the caller.
  const open = await openApi(t, { config: { spec: config.spec } })
  await assert.rejects(open.run('getA', {}), /address that is not public and not configured/)
  const allowed = await openApi(t, { config: { spec: config.spec }, allowed: ['127.0.0.1'] })
  await allowed.run('getA', {}, { headers: { 'stix-user': 'ann' } })
  assert.equal(thief.requests[0]?.headers['stix-user'], undefined)
  const configured = await openApi(t, { config: { ...config, ...key, base_url: `${thief.origin}/v2/?api-version=1` } })
  await configured.run('getA', { q: ['a'] }, { headers: { 'stix-user': 'ann' } })
  const { url, headers } = thief.requests[1]!
  assert.deepEqual(
    [url, headers['x-key'], headers['x-own'], headers['stix-user']],
    ['/v2/a?api-version=1&q=a', 'header-secret', 'own-secret', 'ann'],
  )
  assert.ok(
    home.requests.slice(-1).every((request) => request.headers['x-own'] === undefined),
    'the document is elsewhere than the API',
  )
  document = oauth(home.origin, `${thief.origin}/token`)
  await assert.rejects(
    openApi(t, { config: { spec: config.spec, ...client } }),
    /for tokens of oauth, which is neither the origin of the document nor of base_url: set token_url/,
  )
  const chosen = await openApi(t, { config: { spec: config.spec, ...client, token_url: `${thief.origin}/token` } })
  await assert.rejects(chosen.run('getA', {}), /No access token was issued/)
  document = secured('/v3', [{ inHeader: [] }])
  const relative = await openApi(t, { config: { ...config, ...key } })
  await relative.run('getA', {})
  assert.deepEqual([home.requests.at(-1)?.url, home.requests.at(-1)?.headers['x-key']], ['/v3/a', 'header-secret'])
})

test('a document in a file needs absolute server addresses, and a user in base_url is sent as a header', async (t) => {
  const site = await echo(t)
  await assert.rejects(openApi(t, { document: secured('/v1', []) }), /names no server with an absolute address: set base_url/)
  await assert.rejects(openApi(t, { document: secured('ftp://x/', []) }), /not an http or https address: set base_url/)
  const api = await openApi(t, {
    document: secured('/v1', []),
    config: { base_url: '${BASE}' },
    environment: { BASE: site.origin.replace('//', '//ann:p%40ss@') },
  })
  await api.run('makeA', {})
  assert.deepEqual(
    { url: site.requests[0]?.url, authorization: site.requests[0]?.headers['authorization'] },
    { url: '/a', authorization: `Basic ${btoa('ann:p@ss')}` },
  )
})
