import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT, type JWK } from 'jose'
import { createKey } from './keys/keys.ts'
import { createMemorySecret } from './keys/memory-key-store.ts'
import { openSigningKeys } from './keys/signing-keys.ts'
import { createVerifier, type AccessProvider } from './verify.ts'

const start = 1_700_000_000_000
const issuer = 'https://id.example'
const seconds = start / 1000

async function pair(alg: string, kid: string) {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg } as JWK }
}

/** An identity provider on a free port: `answer` is what its key set says now. */
async function serveKeys(t: TestContext) {
  const provider = { keys: [] as JWK[], status: 200, asked: 0, url: '' }
  const server = createServer((_, response) => {
    provider.asked += 1
    response.writeHead(provider.status, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: provider.keys }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  provider.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`
  return provider
}

async function setUp(t: TestContext, settings: Partial<AccessProvider> = {}) {
  const provider = await serveKeys(t)
  const state = { now: start, revoked: new Set<string>() }
  const keys = await openSigningKeys(createMemorySecret(), () => state.now)
  const signing = keys.newest()
  const verifier = createVerifier({
    signing: keys,
    provider: { jwksUrl: provider.url, issuer, audience: ['agents'], scopes: [], ...settings },
    adminTenant: 'default',
    customRoles: () => noRoles,
    isRevoked: (jti) => state.revoked.has(jti),
    now: () => state.now,
  })
  const key = await pair('ES256', 'one')
  provider.keys = [key.publicJwk]
  const claims = { iss: issuer, aud: 'agents', sub: 'ada', tenant: 'acme', iat: seconds, exp: seconds + 3600 }
  const sign = (change: object = {}, header: object = {}, by = key.privateKey) =>
    new SignJWT({ ...claims, ...change }).setProtectedHeader({ alg: 'ES256', kid: 'one', ...header }).sign(by)
  return { provider, state, signing, sign, ...verifier }
}

const noRoles = {}

function refused(reason: RegExp) {
  return { code: 'unauthorized', message: new RegExp(`^JWT verification failed: .*${reason.source}`) }
}

test("a provider's token becomes a principal of its own issuer, and keys are fetched once", async (t) => {
  const { sign, verify, verifyCached, provider } = await setUp(t)
  const token = await sign()
  const [who] = await Promise.all([verify(token), sign({ sub: 'bob' }).then(verify), sign({ sub: 'eve' }).then(verify)])
  assert.deepEqual(
    { tenant: who.tenant, issuer: who.issuer, sub: who.sub, owner: who.owner, keyId: who.keyId },
    { tenant: 'acme', issuer, sub: 'ada', owner: `${issuer} ada`, keyId: undefined },
  )
  assert.equal(verifyCached(token), who)
  assert.equal(provider.asked, 1)
})

test('RS256, ES256 and EdDSA are accepted, nothing else', async (t) => {
  const { sign, verify, provider } = await setUp(t)
  const accepted = ['RS256', 'ES256', 'EdDSA']
  const keys = await Promise.all([...accepted, 'RS512', 'PS256', 'ES384'].map(async (alg) => ({ alg, ...(await pair(alg, alg)) })))
  provider.keys = keys.map((key) => key.publicJwk)
  for (const { alg, privateKey } of keys) {
    const token = await sign({}, { alg, kid: alg }, privateKey)
    if (accepted.includes(alg)) assert.equal((await verify(token)).sub, 'ada')
    else await assert.rejects(verify(token), refused(/algorithm is not accepted/))
  }
})

test('issuer, audience, sub and exp are required and checked, with 60 seconds of leeway', async (t) => {
  const { sign, verify } = await setUp(t)
  await assert.rejects(sign({ iss: `${issuer}/` }).then(verify), refused(/issuer is not one/))
  await assert.rejects(sign({ aud: 'others' }).then(verify), refused(/"aud" claim is not what is expected/))
  await assert.rejects(sign({ aud: undefined }).then(verify), refused(/no "aud" claim/))
  await assert.rejects(sign({ exp: undefined }).then(verify), refused(/no "exp" claim/))
  await assert.rejects(sign({ sub: undefined }).then(verify), refused(/no "sub" claim/))
  await assert.rejects(sign({ exp: seconds - 60 }).then(verify), refused(/the key has expired/))
  assert.equal((await sign({ exp: seconds - 59 }).then(verify)).sub, 'ada')
  assert.equal((await sign({ aud: ['others', 'agents'], nbf: seconds + 59 }).then(verify)).sub, 'ada')
})

test('a token without a tenant is refused unless the settings name a tenant', async (t) => {
  const { sign, verify } = await setUp(t)
  await assert.rejects(sign({ tenant: undefined }).then(verify), refused(/no "tenant" claim/))
  const other = await setUp(t, { tenant: 'home' })
  assert.equal((await other.sign({ tenant: undefined }).then(other.verify)).tenant, 'home')
  assert.equal((await other.sign().then(other.verify)).tenant, 'acme')
  await assert.rejects(other.sign({ tenant: '' }).then(other.verify), refused(/"tenant" claim/))
})

test('a name with half a surrogate pair is refused: stored, two callers would become one', async (t) => {
  const { sign, verify } = await setUp(t)
  await assert.rejects(sign({ sub: 'ada\ud800' }).then(verify), refused(/"sub" claim/))
  await assert.rejects(sign({ tenant: 'acme\udfff' }).then(verify), refused(/"tenant" claim/))
  assert.equal((await sign({ sub: 'ada \u{1F600}' }).then(verify)).sub, 'ada \u{1F600}')
})

test("a provider's roles count only through the claim that the settings name", async (t) => {
  const { sign, verify } = await setUp(t)
  assert.deepEqual((await sign({ roles: ['admin'] }).then(verify)).roles, [])
  const nested = await setUp(t, { rolesClaim: 'realm_access.roles' })
  const rolesOf = async (claims: object) => (await nested.sign(claims).then(nested.verify)).roles
  assert.deepEqual(await rolesOf({ realm_access: { roles: ['user', 7, 'viewer'] }, roles: ['admin'] }), ['user', 'viewer'])
  assert.deepEqual(await rolesOf({ realm_access: { roles: 'user  viewer' } }), ['user', 'viewer'])
  assert.deepEqual(await rolesOf({ 'realm_access.roles': ['operator'] }), ['operator'])
  assert.deepEqual(await rolesOf({ realm_access: null }), [])
  assert.deepEqual(await rolesOf({}), [])
})

test("a provider's token cannot pass for our own key, nor our signature for the provider's", async (t) => {
  const { sign, signing, verify, provider } = await setUp(t)
  await assert.rejects(sign({ iss: 'agent-core', jti: 'x' }).then(verify), refused(/algorithm is not accepted/))
  await assert.rejects(sign({ iss: 'agent-core', jti: 'x' }, { kid: signing.kid }).then(verify), refused(/algorithm is not accepted/))
  const ed = await pair('EdDSA', signing.kid)
  provider.keys = [...provider.keys, ed.publicJwk]
  const posing = sign({ iss: 'agent-core', jti: 'x', roles: ['admin'] }, { alg: 'EdDSA', kid: signing.kid }, ed.privateKey)
  await assert.rejects(posing.then(verify), refused(/signature does not fit/))
  provider.keys = provider.keys.slice(0, 1)
  const mine = sign({}, { alg: 'EdDSA', kid: signing.kid }, signing.privateKey)
  await assert.rejects(mine.then(verify), refused(/no key that could have signed it/))
})

test("a provider's jti that is no name is left out", async (t) => {
  const { sign, verify } = await setUp(t)
  for (const jti of ['a\u0000b', 'a\nb', '', 'x'.repeat(257)]) assert.equal((await sign({ jti }).then(verify)).keyId, undefined)
})

test("a provider's jti equal to a revoked one of ours is not revoked, an own key is", async (t) => {
  const { sign, signing, state, verify } = await setUp(t)
  const request = { sub: 'ada', tenant: 'acme', roles: ['user'], expiresInSeconds: 60, now: start }
  const own = await createKey(signing, request)
  state.revoked.add(own.claims.jti)
  assert.equal((await sign({ jti: own.claims.jti }).then(verify)).keyId, own.claims.jti)
  await assert.rejects(verify(own.key), refused(/revoked/))
})

test('an unreachable provider is an overload, not a refusal; own keys still work', async (t) => {
  const { sign, signing, state, verify, provider } = await setUp(t)
  provider.status = 500
  const token = await sign()
  const overloaded = { code: 'overloaded', retryAfter: 5 }
  await Promise.all([assert.rejects(verify(token), overloaded), assert.rejects(verify(token), overloaded)])
  await assert.rejects(verify(token), overloaded)
  assert.equal(provider.asked, 1, 'one look for all, and none again during the pause')
  const request = { sub: 'ada', tenant: 'acme', roles: ['user'], expiresInSeconds: 60, now: start }
  assert.equal((await verify((await createKey(signing, request)).key)).sub, 'ada')
  provider.status = 200
  state.now += 2000
  assert.equal((await verify(token)).sub, 'ada')
})

test('an unknown key id is a refusal, and does not cause a fetch each time', async (t) => {
  const { sign, verify, provider } = await setUp(t)
  await sign().then(verify)
  for (const kid of ['a', 'b', 'c']) await assert.rejects(sign({}, { kid }).then(verify), refused(/no key that could have signed it/))
  assert.equal(provider.asked, 1)
})
