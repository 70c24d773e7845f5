import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { exportSPKI, importJWK, SignJWT, type CryptoKey, type JWK } from 'jose'
import { createKey } from './keys/keys.ts'
import { createMemorySecret } from './keys/memory-key-store.ts'
import type { CustomRoles } from './permissions.ts'
import { openSigningKeys, rotateSigningKeys } from './keys/signing-keys.ts'
import { createVerifier, type VerifierOptions } from './verify.ts'

const start = 1_700_000_000_000

async function newSigning(now = () => start) {
  const kept = createMemorySecret()
  const keys = await openSigningKeys(kept, now)
  return { kept, keys, signing: keys.newest(), jwk: JSON.parse(kept.kept ?? '') as JWK }
}

async function setUp(more: Partial<VerifierOptions> = {}) {
  const state = { now: start, customRoles: {} as CustomRoles, revoked: new Set<string>() }
  const { keys, signing, jwk } = await newSigning(() => state.now)
  const verifier = createVerifier({
    signing: keys,
    adminTenant: 'default',
    customRoles: () => state.customRoles,
    isRevoked: (jti) => state.revoked.has(jti),
    now: () => state.now,
    ...more,
  })
  const make = (change: object = {}) =>
    createKey(signing, { sub: 'ada', tenant: 'acme', roles: ['user'], expiresInSeconds: 3600, now: start, ...change })
  return { state, signing, jwk, make, ...verifier }
}

function refused(reason: RegExp) {
  return (error: { code?: string; message: string }) => {
    assert.equal(error.code, 'unauthorized')
    assert.match(error.message, /^JWT verification failed: /)
    assert.match(error.message, reason)
    return true
  }
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const parts = (token: string) => token.split('.') as [string, string, string]

function decode(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, 'base64url').toString())
}

test('an own key becomes a principal, from the cache the second time', async () => {
  const { make, signing, verify, verifyCached } = await setUp()
  const { key, claims } = await make()
  assert.equal(verifyCached(key), undefined)
  const who = await verify(key)
  const { permissions, ...rest } = who
  assert.deepEqual(rest, {
    tenant: 'acme',
    issuer: 'agent-core',
    sub: 'ada',
    owner: 'agent-core ada',
    roles: ['user'],
    keyId: claims.jti,
    signingKeyId: signing.kid,
    expiresAt: claims.exp * 1000,
  })
  assert.ok(permissions.has('chat') && !permissions.has('config.read'))
  assert.equal(verifyCached(key), who)
})

test('text that is no key is refused with a reason', async () => {
  const { verify, verifyCached } = await setUp()
  await assert.rejects(verify(''), refused(/no key was given/))
  await assert.rejects(verify('garbage'), refused(/not a valid JWT/))
  await assert.rejects(verify('a.b.c'), refused(/not a valid JWT/))
  await assert.rejects(verify('x'.repeat(20_000)), refused(/too long/))
  assert.equal(verifyCached('x'.repeat(20_000)), undefined)
})

test('a token that names no algorithm is refused, with and without a signature', async () => {
  const { make, verify } = await setUp()
  const [header, payload, signature] = parts((await make()).key)
  for (const alg of ['none', 'None', 'NONE', '']) {
    const forged = encode({ ...decode(header), alg })
    await assert.rejects(verify(`${forged}.${payload}.`), refused(/algorithm is not accepted|not a valid JWT/))
    await assert.rejects(verify(`${forged}.${payload}.${signature}`), refused(/algorithm is not accepted|not a valid JWT/))
  }
})

test('a token signed with the public key as a shared secret is refused', async () => {
  const { make, jwk, signing, verify } = await setUp()
  const [header, payload] = parts((await make({ roles: ['admin'] })).key)
  const publicKey = (await importJWK({ kty: jwk.kty!, crv: jwk.crv!, x: jwk.x! }, 'EdDSA', { extractable: true })) as CryptoKey
  const secrets = [Buffer.from(jwk.x ?? '', 'base64url'), await exportSPKI(publicKey), jwk.x ?? '', signing.kid]
  for (const secret of secrets) {
    const input = `${encode({ ...decode(header), alg: 'HS256' })}.${payload}`
    const forged = `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
    await assert.rejects(verify(forged), refused(/algorithm is not accepted/))
  }
})

test('a changed payload, header or signature is refused', async () => {
  const { make, verify } = await setUp()
  const [header, payload, signature] = parts((await make()).key)
  const admin = encode({ ...decode(payload), roles: ['admin'] })
  await assert.rejects(verify(`${header}.${admin}.${signature}`), refused(/signature does not fit/))
  await assert.rejects(verify(`${encode({ ...decode(header), typ: 'x' })}.${payload}.${signature}`), refused(/signature does not fit/))
  const turned = (signature[0] === 'A' ? 'B' : 'A') + signature.slice(1)
  await assert.rejects(verify(`${header}.${payload}.${turned}`), refused(/signature does not fit/))
  await assert.rejects(verify(`${header}.${payload}.`), refused(/signature does not fit|not a valid JWT/))
})

test('a key of another signing key is refused, also under our key id or with its own public key in the header', async () => {
  const { make, signing, verify } = await setUp()
  const other = await newSigning()
  const { claims } = await make()
  const foreign = await createKey(other.signing, { sub: 'ada', tenant: 'acme', roles: ['admin'], expiresInSeconds: 60, now: start })
  await assert.rejects(verify(foreign.key), refused(/signed by another signing key/))
  const sign = (header: object) => new SignJWT({ ...claims }).setProtectedHeader({ alg: 'EdDSA', ...header }).sign(other.signing.privateKey)
  await assert.rejects(sign({ kid: signing.kid }).then(verify), refused(/signature does not fit/))
  await assert.rejects(sign({}).then(verify), refused(/signed by another signing key/))
  const { kty, crv, x } = other.jwk
  await assert.rejects(sign({ kid: signing.kid, jwk: { kty, crv, x } }).then(verify), refused(/signature does not fit/))
})

test('missing or wrong claims are refused despite our own signature', async () => {
  const { make, signing, verify } = await setUp()
  const { claims } = await make()
  const sign = (change: object, header: object = {}) =>
    new SignJWT({ ...claims, ...change }).setProtectedHeader({ alg: 'EdDSA', kid: signing.kid, ...header }).sign(signing.privateKey)
  await assert.rejects(sign({ exp: undefined }).then(verify), refused(/no "exp" claim/))
  await assert.rejects(sign({ sub: undefined }).then(verify), refused(/no "sub" claim/))
  await assert.rejects(sign({ sub: 'ada\nbob' }).then(verify), refused(/"sub" claim/))
  await assert.rejects(sign({ sub: 7 }).then(verify), refused(/"sub" claim|not a valid JWT/))
  await assert.rejects(sign({ tenant: ['acme'] }).then(verify), refused(/"tenant" claim/))
  await assert.rejects(sign({ jti: undefined }).then(verify), refused(/"jti" claim/))
  await assert.rejects(sign({ iss: 'https://elsewhere' }).then(verify), refused(/issuer is not one/))
  await assert.rejects(sign({ iss: undefined }).then(verify), refused(/issuer is not one/))
  await assert.rejects(sign({ iss: ['agent-core'] }).then(verify), refused(/issuer is not one/))
  await assert.rejects(sign({ nbf: start / 1000 + 10 }).then(verify), refused(/not valid yet/))
  await assert.rejects(sign({ exp: 'soon' }).then(verify), refused(/"exp" claim/))
  assert.equal((await sign({ tenant: undefined }).then(verify)).tenant, 'default')
  assert.deepEqual([...(await sign({ roles: { admin: true } }).then(verify)).permissions], [])
})

test('a key expires to the second, also when cached', async () => {
  const { make, state, verify, verifyCached } = await setUp()
  const { key } = await make({ expiresInSeconds: 30 })
  await verify(key)
  state.now = start + 29_999
  assert.ok(verifyCached(key))
  state.now = start + 30_000
  assert.equal(verifyCached(key), undefined)
  await assert.rejects(verify(key), refused(/the key has expired/))
})

test('a token is verified again after 60 seconds', async () => {
  const { make, state, verify, verifyCached } = await setUp()
  const { key } = await make()
  await verify(key)
  state.now += 59_999
  assert.ok(verifyCached(key))
  state.now += 1
  assert.equal(verifyCached(key), undefined)
  assert.equal((await verify(key)).sub, 'ada')
})

test('a revoked key is refused at once, also when cached', async () => {
  const { make, state, verify, verifyCached } = await setUp()
  const { key, claims } = await make()
  await verify(key)
  state.revoked.add(claims.jti)
  assert.equal(verifyCached(key), undefined)
  await assert.rejects(verify(key), refused(/the key was revoked/))
})

test('a key whose signing key has ended is refused at once, also when cached', async () => {
  const { kept, keys: first, signing } = await newSigning()
  let keys = first
  const find = (kid: string) => keys.find(kid)
  const { verify, verifyCached } = await setUp({ signing: { find, lookFor: async (kid) => find(kid) } })
  const { key } = await createKey(signing, { sub: 'ada', tenant: 'acme', roles: ['user'], expiresInSeconds: 3600, now: start })
  const rotate = async (endNow: boolean) => {
    await rotateSigningKeys(kept, { now: () => start, latestExpiry: async () => 0, endNow })
    keys = await openSigningKeys(kept, () => start)
  }
  await verify(key)
  await rotate(false)
  assert.ok(verifyCached(key))
  await rotate(true)
  assert.equal(verifyCached(key), undefined)
  await assert.rejects(verify(key), refused(/signed by another signing key/))
})

test('an unknown signing key is looked up; an unreadable store is no refusal', async () => {
  const { keys, signing } = await newSigning()
  const asked: string[] = []
  const state = { isAway: false }
  const loaded = new Set<string>()
  const find = (kid: string) => (loaded.has(kid) ? keys.find(kid) : undefined)
  const lookFor = async (kid: string) => {
    asked.push(kid)
    if (state.isAway) throw new Error('no database')
    loaded.add(kid)
    return find(kid)
  }
  const { verify } = await setUp({ signing: { find, lookFor } })
  const request = { sub: 'ada', tenant: 'acme', roles: ['user'], expiresInSeconds: 3600, now: start }
  assert.equal((await verify((await createKey(signing, request)).key)).sub, 'ada')
  const foreign = await newSigning()
  const { key } = await createKey(foreign.signing, request)
  await assert.rejects(verify(key), refused(/signed by another signing key/))
  state.isAway = true
  await assert.rejects(verify(key), { code: 'overloaded', retryAfter: 2 })
  const sign = (kid: unknown) =>
    new SignJWT({})
      .setProtectedHeader({ alg: 'EdDSA', kid } as never)
      .setIssuer('agent-core')
      .sign(signing.privateKey)
  for (const kid of ['', 'k', 'k'.repeat(44), 7, {}, ['k'.repeat(43)]])
    await assert.rejects(sign(kid).then(verify), { code: 'unauthorized' })
  assert.deepEqual(asked, [signing.kid, foreign.signing.kid, foreign.signing.kid])
})

test('a change of the configured roles takes effect at once, also for cached keys', async () => {
  const { make, state, verify, verifyCached } = await setUp()
  const { key } = await make({ roles: ['reviewer'] })
  assert.deepEqual([...(await verify(key)).permissions], [])
  state.customRoles = { reviewer: ['runs.read'] }
  assert.deepEqual([...(verifyCached(key)?.permissions ?? [])], ['runs.read'])
  state.customRoles = { reviewer: ['chat'] }
  assert.deepEqual([...(await verify(key)).permissions], ['chat'])
})

test('the number of cached tokens is limited; the oldest goes first', async () => {
  const { make, verify, verifyCached } = await setUp({ maxCachedTokens: 3 })
  const keys = await Promise.all([1, 2, 3, 4].map(async () => (await make()).key))
  for (const key of keys) await verify(key)
  assert.deepEqual(
    keys.map((key) => verifyCached(key) !== undefined),
    [false, true, true, true],
  )
})

test('a provider cannot use the issuer of the service itself', async () => {
  const provider = { issuer: 'agent-core', audience: ['x'], scopes: [], jwksUrl: 'http://127.0.0.1:1/' }
  await assert.rejects(setUp({ provider }), /cannot have the issuer agent-core/)
})

test('a verified token costs few microseconds', async () => {
  const { make, verify, verifyCached } = await setUp()
  const { key } = await make()
  await verify(key)
  const best = Math.min(
    ...Array.from({ length: 20 }, () => {
      const before = process.hrtime.bigint()
      for (let n = 0; n < 1000; n += 1) verifyCached(key)
      return Number(process.hrtime.bigint() - before) / 1e6
    }),
  )
  assert.ok(best < 50, `${best} µs`)
})

test('a key is accepted only with current revocations, also from the cache', async () => {
  const stale = { isStale: false, error: undefined as Error | undefined, polls: 0 }
  const { make, state, verify, verifyCached } = await setUp({
    revocations: {
      isStale: () => stale.isStale,
      async freshen() {
        stale.polls++
        if (stale.error) throw stale.error
        stale.isStale = false
      },
    },
  })
  const { key, claims } = await make()
  await verify(key)
  assert.ok(verifyCached(key))
  stale.isStale = true
  assert.equal(verifyCached(key), undefined)
  stale.error = new Error('The store is away.')
  await assert.rejects(
    verify(key),
    (error: { code?: string; retryAfter?: number }) => error.code === 'overloaded' && error.retryAfter === 2,
  )
  stale.error = undefined
  await verify(key)
  assert.deepEqual([stale.polls, verifyCached(key)?.sub], [2, 'ada'])
  stale.isStale = true
  state.revoked.add(claims.jti)
  await assert.rejects(verify(key), refused(/revoked/))
})
