import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  type OAuthClientProvider,
  type OAuthTokens,
} from '@modelcontextprotocol/client'
import { startIdentityProvider } from '../fixtures/identity-provider.ts'
import { startService } from '../fixtures/service.ts'

const wellKnown = '/.well-known/oauth-protected-resource'
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }

function post(url: string, { token, headers, body = list }: { token?: string; headers?: Record<string, string>; body?: object } = {}) {
  const authorization: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...authorization, ...headers },
    body: JSON.stringify(body),
  })
}

async function setUp(t: TestContext, environment: Record<string, string> = {}, config: Record<string, unknown> = {}) {
  const provider = await startIdentityProvider(t)
  const service = await startService(t, { script: { text: 'Hello.' }, environment: { ...provider.environment, ...environment }, config })
  return { provider, service }
}

/** The parameters of a challenge. */
function challengeOf(response: Response): Record<string, string> {
  const header = response.headers.get('www-authenticate') ?? ''
  assert.match(header, /^Bearer /)
  return Object.fromEntries([...header.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name!, value!]))
}

test('OAuth: a client without a token finds the identity provider of /mcp from the refusal', async (t) => {
  const { provider, service } = await setUp(t, {}, { name: 'Helper' })
  const refused = await post(service.url)
  assert.equal(refused.status, 401)
  assert.deepEqual(challengeOf(refused), { resource_metadata: `${service.url}${wellKnown}/mcp`, scope: 'openid' })
  const metadata = await fetch(challengeOf(refused)['resource_metadata']!)
  assert.deepEqual(await metadata.json(), {
    resource: `${service.url}/mcp`,
    authorization_servers: [provider.issuer],
    scopes_supported: ['openid'],
    bearer_methods_supported: ['header'],
    resource_name: 'Helper',
    resource_documentation: `${service.url}/docs/guides/mcp-clients`,
  })
  assert.equal(((await (await fetch(service.url + wellKnown)).json()) as { resource: string }).resource, service.url)
  assert.equal((await fetch(`${service.url}${wellKnown}/a2a`)).status, 404)
  // Other routes have no metadata.
  assert.equal((await fetch(`${service.url}/core/v1/me`)).headers.get('www-authenticate'), 'Bearer')
})

test('OAuth: a token without a permission is challenged for a scope that grants it', async (t) => {
  const { provider, service } = await setUp(
    t,
    { ACCESS_ROLES_CLAIM: 'scope' },
    { access: { roles: { talker: ['chat'], runner: ['chat', 'tools.execute'] } } },
  )
  const scopes = (await (await fetch(`${service.url}${wellKnown}/mcp`)).json()) as { scopes_supported: string[] }
  assert.deepEqual(scopes.scopes_supported, ['runner'])
  assert.equal(challengeOf(await post(service.url))['scope'], 'runner')
  const metadata = `${service.url}${wellKnown}/mcp`
  const viewer = await post(service.url, { token: await provider.token({ scope: 'viewer' }) })
  assert.equal(viewer.status, 403)
  const { error_description: description, ...challenge } = challengeOf(viewer)
  assert.deepEqual(challenge, { error: 'insufficient_scope', resource_metadata: metadata, scope: 'talker' })
  assert.match(description!, /lacks the permission chat/)
  const call = { ...list, method: 'tools/call', params: { name: 'calculator', arguments: { expression: '1+1' } } }
  const talker = await post(service.url, { token: await provider.token({ scope: 'openid talker' }), body: call })
  assert.deepEqual({ status: talker.status, scope: challengeOf(talker)['scope'] }, { status: 403, scope: 'runner' })
  // A page of another origin is refused whatever its token, so no scope helps.
  const headers = { origin: 'https://evil.example' }
  const page = await post(service.url, { token: await provider.token({ scope: 'runner' }), headers })
  assert.deepEqual({ status: page.status, challenge: page.headers.get('www-authenticate') }, { status: 403, challenge: null })
})

test('OAuth: behind a proxy with a prefix both forms of the path lead to the metadata', async (t) => {
  const { provider, service } = await setUp(t, { PUBLIC_URL: 'https://agents.example/core', ACCESS_SCOPES: 'api://agents/chat' })
  const resource = 'https://agents.example/core/mcp'
  for (const path of [`/core${wellKnown}/mcp`, `${wellKnown}/mcp`, `${wellKnown}/core/mcp`]) {
    assert.equal(((await (await fetch(service.url + path)).json()) as { resource: string }).resource, resource, path)
  }
  assert.equal(
    ((await (await fetch(`${service.url}${wellKnown}/core`)).json()) as { resource: string }).resource,
    'https://agents.example/core',
  )
  assert.deepEqual(challengeOf(await post(service.url)), {
    resource_metadata: `https://agents.example/core${wellKnown}/mcp`,
    scope: 'api://agents/chat',
  })
  // A token for the resource itself is accepted beside those for ACCESS_AUDIENCE.
  assert.equal((await post(service.url, { token: await provider.token({ aud: resource }) })).status, 200)
  assert.equal((await post(service.url, { token: await provider.token({ aud: 'https://other.example/mcp' }) })).status, 401)
})

test('OAuth: no cache keeps metadata that names the host of the request; PUBLIC_URL decides where it is set', async (t) => {
  const { provider, service } = await setUp(t)
  // `fetch` sends no other Host.
  const ask = async (url: string, path: string, method = 'GET') => {
    const request = http.request(`${url}${path}`, { method, headers: { host: 'evil.example', 'x-forwarded-proto': 'https' } })
    const [response] = (await once(request.end(), 'response')) as [http.IncomingMessage]
    const { 'cache-control': cacheControl, vary, 'www-authenticate': challenge } = response.headers
    return { cacheControl, vary, text: `${challenge ?? ''} ${await text(response)}` }
  }
  for (const [path, method] of [
    [`${wellKnown}/mcp`, 'GET'],
    ['/mcp', 'POST'],
  ] as const) {
    const { cacheControl, vary, text: sent } = await ask(service.url, path, method)
    assert.deepEqual([cacheControl, /\bhost\b/.test(vary ?? '')], ['no-store', true], `${method} ${path} ${sent}`)
  }
  const status = await (await service.as({ roles: ['operator'] })).request('GET', '/core/v1/status')
  assert.match(status.body.checks.map(({ message }: { message: string }) => message).join(), /PUBLIC_URL is not set/)
  const environment = { ...provider.environment, PUBLIC_URL: 'https://agents.example' }
  const fixed = await startService(t, { environment })
  for (const [path, method] of [
    [`${wellKnown}/mcp`, 'GET'],
    ['/mcp', 'POST'],
  ] as const) {
    const { text: sent } = await ask(fixed.url, path, method)
    assert.match(sent, /https:\/\/agents\.example\//)
    assert.doesNotMatch(sent, /evil/)
  }
})

test('OAuth: without an identity provider that has an address there is no metadata', async (t) => {
  const service = await startService(t)
  assert.equal((await fetch(`${service.url}${wellKnown}/mcp`)).status, 404)
  assert.equal((await fetch(service.url + wellKnown)).status, 404)
  assert.equal((await post(service.url)).headers.get('www-authenticate'), 'Bearer')
  const provider = await startIdentityProvider(t)
  const environment = { ...provider.environment, ACCESS_ISSUER: 'urn:id', CONSOLE_CLIENT_ID: '' }
  const named = await startService(t, { environment })
  assert.equal((await fetch(`${named.url}${wellKnown}/mcp`)).status, 404)
  assert.equal((await post(named.url)).headers.get('www-authenticate'), 'Bearer')
})

test('OAuth: the official client signs its user in at the identity provider, and asks the agent', async (t) => {
  const { provider, service } = await setUp(t)
  const redirectUrl = 'http://127.0.0.1/callback'
  let verifier = ''
  let tokens: OAuthTokens | undefined
  let authorizeUrl: URL | undefined
  const authProvider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: { redirect_uris: [redirectUrl], client_name: 'test' },
    clientInformation: () => ({ client_id: 'mcp-client', issuer: provider.issuer }),
    tokens: () => tokens,
    saveTokens: (saved) => void (tokens = saved),
    saveCodeVerifier: (saved) => void (verifier = saved),
    codeVerifier: () => verifier,
    redirectToAuthorization: (url) => void (authorizeUrl = url),
  }
  const transport = () => new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { authProvider })
  const first = transport()
  const options = { versionNegotiation: { mode: 'auto' as const } }
  await assert.rejects(new Client({ name: 'test', version: '1' }, options).connect(first), UnauthorizedError)
  const asked = Object.fromEntries(authorizeUrl!.searchParams)
  assert.equal(authorizeUrl!.origin, provider.issuer)
  assert.deepEqual(
    { resource: asked['resource'], scope: asked['scope'], client: asked['client_id'] },
    { resource: `${service.url}/mcp`, scope: 'openid', client: 'mcp-client' },
  )
  await first.finishAuth(provider.authorize(verifier, redirectUrl))
  assert.equal(provider.requests[0]?.fields['resource'], `${service.url}/mcp`)

  const client = new Client({ name: 'test', version: '1' }, options)
  await client.connect(transport())
  t.after(() => client.close())
  const { structuredContent } = await client.callTool({ name: 'ask', arguments: { message: 'Hi' } })
  assert.equal((structuredContent as { output: string }).output, 'Hello.')
})
