import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { KeyCreator } from '../../src/access/keys/keys.ts'
import { createAccessKeyStore } from '../../src/store/secrets/access-keys.ts'
import type { Database } from '../../src/store/database.ts'
import { createSecretBox, WrongSecretKey } from '../../src/store/secrets/secret-box.ts'
import { createSecrets, checkEncrypted, reencryptAll } from '../../src/store/secrets/secrets.ts'
import { hour, storeOf } from './fixture.ts'
import { createNotificationStore } from '../../src/store/runs/notifications.ts'
import { createRunStore } from '../../src/store/runs/runs.ts'
import { storeContract } from './suites.ts'

storeContract('secrets', registerSecretContract)

const [old, next] = ['o'.repeat(32), 'n'.repeat(32)]

function registerSecretContract(database: () => Database): void {
  const open = (...keys: string[]) => createSecrets(database(), createSecretBox(keys), { now: () => hour })

  const renew = (...keys: string[]) => reencryptAll(database(), createSecretBox(keys))

  async function remove(): Promise<void> {
    await database().all.unit(async (connection) => {
      for (const table of ['secrets', 'configurations', 'configuration_texts', 'task_notifications'])
        await connection.execute(`delete from ${table}`, [])
    })
  }

  test('a secret is stored encrypted, and concurrent processes agree on one secret', async () => {
    const name = randomUUID()
    assert.equal(await open(old).secret(name).load(), undefined)
    const texts = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        open(old)
          .secret(name)
          .change((kept) => kept ?? `secret ${n}`),
      ),
    )
    assert.equal(new Set(texts).size, 1)
    assert.equal(await open(old).secret(name).load(), texts[0])
    const { rows } = await database().all.read.execute<{ sealed: string }>('select sealed from secrets', [])
    assert.ok(rows.every(({ sealed }) => sealed.startsWith('v1.') && !sealed.includes('secret')))
    await remove()
  })

  test('concurrent changes are applied one after another', async () => {
    const secret = open(old).secret(randomUUID())
    await Promise.all(['a', 'b', 'c', 'd'].map((letter) => secret.change((kept = '') => kept + letter)))
    assert.match((await secret.load()) ?? '', /^(?!.*(.).*\1)[abcd]{4}$/)
    await remove()
  })

  test('another SECRET_KEY opens and changes nothing; with both keys everything is encrypted again', async () => {
    await remove()
    const names = [randomUUID(), randomUUID()]
    for (const name of names)
      await open(old)
        .secret(name)
        .change(() => `text of ${name}`)
    const receiver = { id: 'a', url: 'https://x/hook', token: 'known', links: false }
    const run = storeOf(database()).newRun({ notifications: [receiver] })
    await createRunStore(database(), { box: createSecretBox([old]) }).begin(run)
    await assert.rejects(renew(next), WrongSecretKey)
    await assert.rejects(open(next).secret(names[0]!).load(), WrongSecretKey)
    await assert.rejects(
      open(next)
        .secret(names[0]!)
        .change(() => 'mine'),
      WrongSecretKey,
    )
    assert.equal(await renew(old), 0)
    assert.deepEqual(await checkEncrypted(database(), createSecretBox([next, old])), { total: 3, older: 3 })
    assert.equal(await renew(next, old), 3)
    assert.deepEqual(await checkEncrypted(database(), createSecretBox([next])), { total: 3, older: 0 })
    assert.equal(await renew(next, old), 0)
    for (const name of names) assert.equal(await open(next).secret(name).load(), `text of ${name}`)
    const reading = createNotificationStore(database(), { box: createSecretBox([next]) })
    assert.equal((await reading.find(run, 'a'))?.token, 'known')
    await assert.rejects(renew(old), WrongSecretKey)
    await remove()
  })

  test('latestExpiry is the latest expiry of the keys that are not revoked', async () => {
    const keys = createAccessKeyStore(database())
    const tenant = randomUUID()
    const insert = (jti: string, expiresAt: number) => keys.insert({ jti, tenant, sub: 'ann', roles: [], createdAt: hour, expiresAt })
    const [long, longest] = [randomUUID(), randomUUID()]
    await insert(long, hour * 2)
    await insert(longest, hour * 3)
    assert.equal(await keys.latestExpiry(), hour * 3)
    await keys.revoke(longest, hour)
    assert.equal(await keys.latestExpiry(), hour * 2)
    await keys.revoke(long, hour)
  })

  test('a page of keys has those of one tenant, newest first, behind a position', async () => {
    const keys = createAccessKeyStore(database())
    const [tenant, other] = [randomUUID(), randomUUID()]
    const insert = (jti: string, createdAt: number, of = tenant) =>
      keys.insert({ jti: `${of} ${jti}`, tenant: of, sub: 'ann', roles: ['user'], createdAt, expiresAt: hour })
    await insert('a', 1)
    await insert('b', 2)
    await insert('c', 2)
    await insert('d', 3)
    await insert('e', 9, other)
    const idsOf = async (limit: number, before?: { createdAt: number; jti: string }) =>
      (await keys.page(tenant, { limit, before })).map(({ jti }) => jti.slice(tenant.length + 1))
    assert.deepEqual(await idsOf(3), ['d', 'c', 'b'])
    assert.deepEqual(await idsOf(3, { createdAt: 2, jti: `${tenant} c` }), ['b', 'a'])
    assert.deepEqual(await idsOf(3, { createdAt: 1, jti: `${tenant} a` }), [])
  })

  test('a revocation is stored once, for keys of the tenant only', async () => {
    const keys = createAccessKeyStore(database())
    const [tenant, jti] = [randomUUID(), randomUUID()]
    await keys.insert({ jti, tenant, sub: 'ann', roles: [], createdAt: 1, expiresAt: hour })
    assert.equal(await keys.revoke(jti, 5, { tenant: 'elsewhere' }), undefined)
    assert.equal(await keys.revoke(randomUUID(), 5), undefined)
    assert.deepEqual(await keys.revoke(jti, 5, { tenant }), { jti, revokedAt: 5, isNew: true })
    assert.deepEqual(await keys.revoke(jti, 9), { jti, revokedAt: 5, isNew: false })
    assert.equal((await keys.list(tenant))[0]?.revokedAt, 5)
  })

  test('keys that a caller created are revoked with those created with them, all or none, in one tenant', async () => {
    const keys = createAccessKeyStore(database())
    const [tenant, other] = [randomUUID(), randomUUID()]
    const insert = (name: string, creator: KeyCreator | undefined, of = tenant) =>
      keys.insert({ jti: `${of} ${name}`, tenant: of, sub: name, roles: [], createdAt: 1, expiresAt: hour, ...(creator && { creator }) })
    const clerk = { owner: 'agent-core clerk', keyId: `${tenant} clerk` }
    assert.equal(await insert('clerk', undefined), true)
    await insert('child', clerk)
    await insert('ended', clerk)
    await insert('grandchild', { owner: 'agent-core child', keyId: `${tenant} child` })
    await insert('stranger', { owner: 'agent-core root', keyId: `${tenant} root` })
    await insert('of provider', { owner: 'agent-core clerk' }, other)
    await keys.revoke(`${tenant} ended`, 3)
    const check = () => {
      throw new RangeError('not these')
    }
    await assert.rejects(keys.revokeCreatedBy(clerk.owner, 5, { tenant, check }), RangeError)
    const revoked = await keys.revokeCreatedBy(clerk.owner, 5, { tenant })
    assert.deepEqual(revoked.toSorted(), [`${tenant} child`, `${tenant} grandchild`])
    assert.deepEqual(await keys.revokeCreatedBy(clerk.owner, 6, { tenant }), [])
    const timesOf = async (of: string) => Object.fromEntries((await keys.list(of)).map(({ sub, revokedAt }) => [sub, revokedAt]))
    assert.deepEqual(await timesOf(tenant), { clerk: undefined, child: 5, ended: 3, grandchild: 5, stranger: undefined })
    assert.deepEqual(await timesOf(other), { 'of provider': undefined })
    assert.deepEqual((await keys.list(tenant)).find(({ sub }) => sub === 'child')?.creator, clerk)
    // A revoked key creates no further keys.
    assert.equal(await insert('late', { owner: 'agent-core child', keyId: `${tenant} child` }), false)
    assert.equal((await timesOf(tenant))['late'], undefined)
    assert.deepEqual(await keys.revokeCreatedBy(clerk.owner, 7), [`${other} of provider`])
  })

  test('the last use of keys is stored unless a fresh one is, also by concurrent processes', async () => {
    const keys = createAccessKeyStore(database())
    const tenant = randomUUID()
    const ids = Array.from({ length: 20 }, () => randomUUID())
    for (const jti of ids) await keys.insert({ jti, tenant, sub: 'ann', roles: [], createdAt: 1, expiresAt: hour })
    const usesOf = async () => new Set((await keys.list(tenant)).map(({ lastUsedAt }) => lastUsedAt))
    await keys.markUsed([...ids, randomUUID()], 100, 80)
    assert.deepEqual(await usesOf(), new Set([100]))
    await keys.markUsed(ids, 110, 90)
    assert.deepEqual(await usesOf(), new Set([100]))
    await Promise.all([ids, ids.toReversed(), ids].map((some, n) => keys.markUsed(some, 200 + n, 180)))
    assert.ok([...(await usesOf())].every((at) => at !== undefined && at >= 200))
  })
}
