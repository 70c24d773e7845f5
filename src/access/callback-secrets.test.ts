import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCallbackSecrets, type CallbackSecretStore } from './callback-secrets.ts'

function memory(): CallbackSecretStore & { kept: string | undefined } {
  return {
    kept: undefined,
    async load() {
      return this.kept
    },
    async save(secret) {
      this.kept ??= secret
    },
  }
}

const one = `whsec_${Buffer.alloc(24, 1).toString('base64')}`
const two = `whsec_${Buffer.alloc(32, 2).toString('base64')}`

test('a secret is made once, and is the same at every start', async () => {
  const store = memory()
  const first = await openCallbackSecrets({ configured: [], secretKey: undefined, store })
  const again = await openCallbackSecrets({ configured: [], secretKey: undefined, store })
  assert.match(first.of('default')[0]!, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.deepEqual(first.of('default'), [store.kept])
  assert.deepEqual(again.of('default'), first.of('default'))
  assert.deepEqual(again.of('other'), first.of('other'))
})

test('what is configured counts, and nothing is made; each of two has its place', async () => {
  const store = memory()
  const secrets = await openCallbackSecrets({ configured: [one, two], secretKey: 'k'.repeat(32), store })
  assert.deepEqual(secrets.of('default'), [one, two])
  assert.equal(secrets.of('acme').length, 2)
  assert.equal(store.kept, undefined)
})

test('every tenant has its own, which only the first secret gives', async () => {
  const store = memory()
  const secrets = await openCallbackSecrets({ configured: [one], secretKey: undefined, store })
  const others = await openCallbackSecrets({ configured: [two], secretKey: undefined, store })
  const all = ['default', 'acme', 'acme2', ''].flatMap((tenant) => [...secrets.of(tenant), ...others.of(tenant)])
  assert.equal(new Set(all).size, all.length)
  // HKDF-SHA256 without salt, as anybody can compute it.
  assert.deepEqual(secrets.of('acme'), ['whsec_867/t5GFHpdBt3g1OdZHyAMlD6CAYbL1jBKHs55cq6I='])
})

test('processes with one SECRET_KEY sign alike without any file', async () => {
  const [a, b] = [memory(), memory()]
  const first = await openCallbackSecrets({ configured: [], secretKey: 'k'.repeat(32), store: a })
  const second = await openCallbackSecrets({ configured: [], secretKey: 'k'.repeat(32), store: b })
  assert.deepEqual(first.of('default'), second.of('default'))
  assert.deepEqual([a.kept, b.kept], [undefined, undefined])
})

test('a file that does not hold a secret is told, not signed with', async () => {
  const store = memory()
  store.kept = 'nonsense'
  await assert.rejects(openCallbackSecrets({ configured: [], secretKey: undefined, store }), /none/)
})
