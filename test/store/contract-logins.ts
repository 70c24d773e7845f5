import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { anyRevision, type Login } from '../../src/configuration/mcp/login-store.ts'
import type { Database } from '../../src/store/database.ts'
import { checkEncrypted, reencryptAll, createLoginStore } from '../../src/store/secrets/secrets.ts'
import { createSecretBox } from '../../src/store/secrets/secret-box.ts'
import { storeContract } from './suites.ts'

storeContract('logins', registerLoginContract)

function registerLoginContract(database: () => Database): void {
  const open = (...secrets: string[]) => createLoginStore(database(), { box: async () => createSecretBox(secrets), now: () => 1 })
  const key = { entry: 'crm', server: 'abc' }
  const login: Login = {
    url: 'https://crm.example/mcp',
    authorizationServer: { issuer: 'https://login.example', tokenEndpoint: 'https://login.example/token' },
    client: { id: 'c' },
    accessToken: 'very-secret',
    loggedInAt: 1,
  }
  afterEach(() => open('s').remove(key))

  test('of two processes that store or replace a login the first one wins', async () => {
    const [store, other] = [open('s'), open('s')]
    assert.deepEqual([await store.find(key), await store.revision(key)], [undefined, undefined])
    const firsts = await Promise.all([store.save(key, login, undefined), other.save(key, login, undefined)])
    const [revision, ...more] = firsts.filter((saved) => saved !== undefined)
    assert.deepEqual([await other.revision(key), more], [revision, []])
    const next = { ...login, accessToken: 'renewed' }
    const seconds = await Promise.all([store.save(key, next, revision), other.save(key, next, revision)])
    assert.equal(seconds.filter((saved) => saved !== undefined).length, 1)
    assert.equal(await store.save(key, login, revision), undefined)
    assert.deepEqual((await other.find(key))?.login, next)
    assert.notEqual(await store.save(key, login, anyRevision), undefined)
    assert.deepEqual((await other.find(key))?.login, login)
    assert.deepEqual([await store.remove(key), await store.remove(key), await other.find(key)], [true, false, undefined])
  })

  test('a login is encrypted, and a change of the secret encrypts it again', async () => {
    await open('old').save(key, login, undefined)
    const { rows } = await database().all.read.execute('select sealed from secrets', [])
    assert.doesNotMatch(JSON.stringify(rows), /very-secret|crm\.example/)
    await assert.rejects(open('new').find(key), /SECRET_KEY is not the key that encrypted the login of crm/)
    const box = createSecretBox(['new', 'old'])
    assert.equal((await checkEncrypted(database(), box)).older, 1)
    assert.equal(await reencryptAll(database(), box), 1)
    assert.deepEqual((await open('new').find(key))?.login, login)
  })
}
