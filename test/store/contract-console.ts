import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { Identity } from '../../src/access/identity.ts'
import type { NewConsoleEntry } from '../../src/access/console/console-sessions.ts'
import type { Database } from '../../src/store/database.ts'
import { createAccessKeyStore } from '../../src/store/secrets/access-keys.ts'
import { createConsoleStore } from '../../src/store/secrets/console.ts'
import { storeContract } from './suites.ts'

storeContract('codes and sessions of the console', registerConsoleContract)

function registerConsoleContract(database: () => Database): void {
  const store = () => createConsoleStore(database())

  function entryOf(change: Partial<NewConsoleEntry> & { tenant?: string } = {}): NewConsoleEntry {
    const { tenant = randomUUID(), ...rest } = change
    const keyId = rest.keyId ?? randomUUID()
    const names = { tenant, issuer: 'agent-core', sub: 'ann', owner: 'agent-core ann', roles: ['user'] }
    const identity: Identity = { ...names, keyId, signingKeyId: 'k', expiresAt: 10_000 }
    return { identity, keyId, hash: randomUUID(), createdAt: 1, expiresAt: 1000, ...rest }
  }

  test('a code is used once, of many concurrent uses by one', async () => {
    const code = entryOf()
    await store().addCode(code, 10)
    const uses = await Promise.all(Array.from({ length: 8 }, () => store().takeCode(code.hash, 5)))
    assert.deepEqual(
      uses.filter((grant) => grant !== undefined),
      [{ identity: code.identity, keyId: code.keyId }],
    )
    assert.equal(await store().takeCode(code.hash, 6), undefined)
  })

  test('an expired code and an unknown one open nothing', async () => {
    const code = entryOf({ expiresAt: 100 })
    await store().addCode(code, 10)
    assert.equal(await store().takeCode(code.hash, 100), undefined)
    assert.equal(await store().takeCode(randomUUID(), 5), undefined)
    assert.ok(await store().takeCode(code.hash, 99))
  })

  test('a session is found until it expires, is removed or is replaced', async () => {
    const [first, second, third] = [entryOf(), entryOf(), entryOf()]
    const add = (session: NewConsoleEntry, replaced?: string) => store().addSession(session, { keep: 10, replaced })
    await add(first)
    assert.deepEqual(await store().findSession(first.hash, 999), { identity: first.identity, keyId: first.keyId, expiresAt: 1000 })
    assert.equal(await store().findSession(first.hash, 1000), undefined)
    await add(second, first.hash)
    assert.equal(await store().findSession(first.hash, 5), undefined)
    await add(third)
    await store().removeSession(second.hash)
    assert.deepEqual(
      [await store().findSession(second.hash, 5), (await store().findSession(third.hash, 5))?.keyId],
      [undefined, third.keyId],
    )
  })

  test('an identity of a provider has neither a key id nor a signing key', async () => {
    const session = entryOf()
    const identity: Identity = { ...session.identity, issuer: 'https://id.example', keyId: undefined, signingKeyId: undefined }
    await store().addSession({ ...session, identity }, { keep: 10, replaced: undefined })
    assert.deepEqual((await store().findSession(session.hash, 5))?.identity, identity)
  })

  test('of the codes and sessions of a key the newest stay, and those of other keys too', async () => {
    const [tenant, keyId] = [randomUUID(), randomUUID()]
    const other = entryOf({ tenant })
    await store().addSession(other, { keep: 2, replaced: undefined })
    const sessions = [1, 2, 3, 4].map((createdAt) => entryOf({ tenant, keyId, createdAt }))
    for (const session of sessions) await store().addSession(session, { keep: 2, replaced: undefined })
    const found = await Promise.all([other, ...sessions].map(async ({ hash }) => (await store().findSession(hash, 5)) !== undefined))
    assert.deepEqual(found, [true, false, false, true, true])
    const codes = [1, 2, 3].map((createdAt) => entryOf({ tenant, keyId, createdAt }))
    for (const code of codes) await store().addCode(code, 2)
    const taken = await Promise.all(codes.map(async ({ hash }) => (await store().takeCode(hash, 5)) !== undefined))
    assert.deepEqual(taken, [false, true, true])
  })

  test('the revocation of a key removes its codes and sessions, not those of a provider with the same id', async () => {
    const keys = createAccessKeyStore(database())
    const [tenant, jti] = [randomUUID(), randomUUID()]
    await keys.insert({ jti, tenant, sub: 'ann', roles: [], createdAt: 1, expiresAt: 1000 })
    const [session, code, foreign] = [entryOf({ tenant, keyId: jti }), entryOf({ tenant, keyId: jti }), entryOf({ tenant, keyId: jti })]
    await store().addSession(session, { keep: 9, replaced: undefined })
    await store().addCode(code, 9)
    const identity = { ...foreign.identity, issuer: 'https://id.example' }
    await store().addSession({ ...foreign, identity }, { keep: 9, replaced: undefined })
    await keys.revoke(jti, 5, { tenant })
    assert.deepEqual([await store().findSession(session.hash, 5), await store().takeCode(code.hash, 5)], [undefined, undefined])
    assert.ok(await store().findSession(foreign.hash, 5))
  })

  test('expired codes and sessions are removed in batches, others stay', async () => {
    const expired = Array.from({ length: 5 }, () => entryOf({ expiresAt: 50 }))
    const valid = entryOf({ expiresAt: 60 })
    for (const entry of [...expired, valid]) await store().addSession(entry, { keep: 9, replaced: undefined })
    await store().addCode(entryOf({ expiresAt: 50 }), 9)
    assert.equal(await store().removeExpired(50, 3), 4)
    assert.equal(await store().removeExpired(50, 3), 2)
    assert.equal(await store().removeExpired(50, 3), 0)
    assert.ok(await store().findSession(valid.hash, 55))
  })
}
