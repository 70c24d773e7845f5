import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeProtectedHeader, exportJWK, generateKeyPair, jwtVerify, type JWK } from 'jose'
import { createKey, openSigningKey, type SigningKeyStore } from './keys.ts'

function memoryStore(kept?: JWK): SigningKeyStore {
  return {
    load: async () => kept,
    save: async (jwk) => {
      kept ??= jwk
    },
  }
}

const request = { sub: 'ada', tenant: 'acme', roles: ['user'], expiresInSeconds: 3600, now: 1_700_000_000_500 }

test('a key says who, where, with which roles and how long, and verifies with the public half', async () => {
  const signing = await openSigningKey(memoryStore())
  const { key, claims } = await createKey(signing, request)
  const { payload } = await jwtVerify(key, signing.publicKey, { currentDate: new Date(request.now) })
  const { jti, ...rest } = claims
  assert.deepEqual(rest, { iss: 'agent-core', sub: 'ada', tenant: 'acme', roles: ['user'], iat: 1_700_000_000, exp: 1_700_003_600 })
  assert.match(jti, /^[0-9a-f]{8}-[0-9a-f]{4}-7/)
  assert.deepEqual(payload, { ...claims })
  assert.deepEqual(decodeProtectedHeader(key), { alg: 'EdDSA', kid: signing.kid, typ: 'JWT' })
})

test('the signing key is made once and found again', async () => {
  const store = memoryStore()
  const first = await openSigningKey(store)
  const second = await openSigningKey(store)
  assert.equal(second.kid, first.kid)
  await jwtVerify((await createKey(first, { ...request, now: Date.now() })).key, second.publicKey)
})

test('what is kept as signing key must be an Ed25519 private key', async () => {
  const rsa = await exportJWK((await generateKeyPair('ES256', { extractable: true })).privateKey)
  await assert.rejects(openSigningKey(memoryStore(rsa)), /not an Ed25519 private key/)
  const publicHalf = await exportJWK((await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })).publicKey)
  await assert.rejects(openSigningKey(memoryStore(publicHalf)), /not an Ed25519 private key/)
})

test('the private key can not be taken out of the process', async () => {
  const signing = await openSigningKey(memoryStore())
  assert.equal(signing.privateKey.extractable, false)
})

test('names and times that make no usable key are refused', async () => {
  const signing = await openSigningKey(memoryStore())
  const refused = (change: Partial<typeof request>) =>
    assert.rejects(createKey(signing, { ...request, ...change }), { code: 'invalid_input' })
  await refused({ sub: '' })
  await refused({ sub: 'ada\nlevel=admin' })
  await refused({ tenant: ' ' })
  await refused({ roles: ['user', ''] })
  await refused({ sub: 'ada\ud800' })
  await refused({ tenant: '\udc00' })
  await refused({ expiresInSeconds: 0 })
  await refused({ expiresInSeconds: 1.5 })
})
