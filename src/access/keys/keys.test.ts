import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeProtectedHeader, jwtVerify } from 'jose'
import { createKey } from './keys.ts'
import { createMemorySecret } from './memory-key-store.ts'
import { openSigningKeys } from './signing-keys.ts'

const open = async (text?: string) => (await openSigningKeys(createMemorySecret(text), Date.now)).newest()

const request = { sub: 'ada', tenant: 'acme', roles: ['user'], expiresInSeconds: 3600, now: 1_700_000_000_500 }

test('a key states subject, tenant, roles and lifetime, and verifies with the public half', async () => {
  const signing = await open()
  const { key, claims } = await createKey(signing, request)
  const { payload } = await jwtVerify(key, signing.publicKey, { currentDate: new Date(request.now) })
  const { jti, ...rest } = claims
  assert.deepEqual(rest, { iss: 'agent-core', sub: 'ada', tenant: 'acme', roles: ['user'], iat: 1_700_000_000, exp: 1_700_003_600 })
  assert.match(jti, /^[0-9a-f]{8}-[0-9a-f]{4}-7/)
  assert.deepEqual(payload, { ...claims })
  assert.deepEqual(decodeProtectedHeader(key), { alg: 'EdDSA', kid: signing.kid, typ: 'JWT' })
})

test('the private key cannot be exported', async () => {
  const signing = await open()
  assert.equal(signing.privateKey.extractable, false)
})

test('unusable names and lifetimes are refused', async () => {
  const signing = await open()
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
