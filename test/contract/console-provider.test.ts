import assert from 'node:assert/strict'
import { test } from 'node:test'
import { send, signIn } from '../fixtures/browser.ts'
import { startIdentityProvider } from '../fixtures/identity-provider.ts'
import { startService } from '../fixtures/service.ts'

const options = '/console/sign-in-options'
const session = '/console/session'
const verifier = 'v'.repeat(43)
const redirect = 'http://127.0.0.1:8080/console/sign-in'

test('Console: users sign in at the identity provider, and the session has the rights of their token', async (t) => {
  const provider = await startIdentityProvider(t)
  const { url } = await startService(t, { script: {}, environment: provider.environment })
  const { body } = await send(url, 'GET', options)
  const authorize = { authorize_url: `${provider.issuer}/authorize`, client_id: 'console', scope: 'openid' }
  assert.deepEqual(body, { identity_provider: authorize, is_provider_away: false })
  const code = provider.authorize(verifier, redirect, { sub: 'bea', roles: ['viewer'] })
  const credential = { authorization_code: code, code_verifier: verifier, redirect_uri: redirect }
  const browser = await signIn(url, credential)
  const { body: me } = await browser.send('GET', '/core/v1/me')
  assert.deepEqual(
    { sub: me.sub, tenant: me.tenant, issuer: me.issuer, roles: me.roles },
    { sub: 'bea', tenant: 'acme', issuer: provider.issuer, roles: ['viewer'] },
  )
  const [{ authorization, fields } = { fields: {} as Record<string, string> }] = provider.requests
  assert.deepEqual(
    { authorization, grant: fields['grant_type'], client: fields['client_id'] },
    { authorization: undefined, grant: 'authorization_code', client: 'console' },
  )
  const again = await send(url, 'POST', session, { body: credential })
  assert.deepEqual([again.status, /refused the sign-in \(invalid_grant\)/.test(again.text)], [401, true])
})

test('Console: a code of the provider with another verifier or redirect address opens nothing', async (t) => {
  const provider = await startIdentityProvider(t)
  const { url } = await startService(t, { script: {}, environment: provider.environment })
  for (const change of [{ code_verifier: 'w'.repeat(43) }, { redirect_uri: 'https://evil.example/' }]) {
    const code = provider.authorize(verifier, redirect)
    const body = { authorization_code: code, code_verifier: verifier, redirect_uri: redirect, ...change }
    const refused = await send(url, 'POST', session, { body })
    assert.deepEqual([refused.status, refused.headers.get('set-cookie')], [401, null])
  }
})

test('Console: a confidential client authenticates, and an ID token counts where the access token is no key of the service', async (t) => {
  const provider = await startIdentityProvider(t)
  const settings = { CONSOLE_CLIENT_SECRET: 'a secret: +', CONSOLE_SCOPE: 'openid profile', CONSOLE_CLIENT_ID: 'my console' }
  const { url, log } = await startService(t, { script: {}, environment: { ...provider.environment, ...settings } })
  assert.equal((await send(url, 'GET', options)).body.identity_provider.scope, 'openid profile')
  provider.replyWith = (token) => ({ access_token: 'opaque', id_token: token })
  const credential = { authorization_code: provider.authorize(verifier, redirect), code_verifier: verifier, redirect_uri: redirect }
  assert.equal((await (await signIn(url, credential)).send('GET', '/core/v1/me')).body.sub, 'ada')
  const basic = Buffer.from('my+console:a+secret%3A+%2B').toString('base64')
  assert.equal(provider.requests[0]?.authorization, `Basic ${basic}`)
  assert.ok(!log.join('').includes('a secret'))
  provider.replyWith = (token) => ({ access_token: `${token}x` })
  const forged = { authorization_code: provider.authorize(verifier, redirect), code_verifier: verifier, redirect_uri: redirect }
  assert.equal((await send(url, 'POST', session, { body: forged })).status, 401)
})

test('Console: a token of the provider without a jti opens a session that ends with the token', async (t) => {
  const provider = await startIdentityProvider(t)
  const { url } = await startService(t, { script: {}, environment: provider.environment })
  const seconds = Math.floor(Date.now() / 1000)
  const browser = await signIn(url, { key: await provider.token({ exp: seconds + 3, sub: 'cyd' }) })
  assert.equal((await browser.send('GET', '/core/v1/me')).body.sub, 'cyd')
  await new Promise((resolve) => setTimeout(resolve, (seconds + 3) * 1000 - Date.now() + 20))
  assert.equal((await browser.send('GET', '/core/v1/me')).status, 401)
  for (const claims of [{ aud: 'others' }, { iss: 'https://evil.example' }, { exp: seconds - 3600 }]) {
    assert.equal((await send(url, 'POST', session, { body: { key: await provider.token(claims) } })).status, 401)
  }
})

test('Console: while the provider is away, keys still open sessions', async (t) => {
  const provider = await startIdentityProvider(t)
  const { url, key } = await startService(t, { script: {}, environment: provider.environment })
  provider.isUp = false
  assert.deepEqual((await send(url, 'GET', options)).body, { identity_provider: null, is_provider_away: true })
  const credential = { authorization_code: 'x', code_verifier: verifier, redirect_uri: redirect }
  assert.equal((await send(url, 'POST', session, { body: credential })).status, 503)
  await signIn(url, { key: (await key()).key })
})

test('Console: without an identity provider a key or a code is the only way in', async (t) => {
  const { url } = await startService(t, { script: {} })
  assert.deepEqual((await send(url, 'GET', options)).body, { identity_provider: null, is_provider_away: false })
})
