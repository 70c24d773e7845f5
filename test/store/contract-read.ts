import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { createAccessKeyStore } from '../../src/store/secrets/access-keys.ts'
import type { Database } from '../../src/store/database.ts'
import { createExecutionStore } from '../../src/store/runs/executions.ts'
import { createSessionStore, existingSessions } from '../../src/store/sessions/sessions.ts'
import { ai, endOf, hour, human, running, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('what is read', registerReadContract)

/** Histories, sessions and access keys as they are read. */
function registerReadContract(database: () => Database): void {
  registerSessions(database)
  registerAccessKeys(database)
  registerText(database)
  registerOwners(database)

  test('a history is read from an index onwards', async () => {
    const { store, newRun, texts, tenant } = storeOf(database())
    const run = newRun({ messages: ['a', 'b', 'c', 'd'].map((text) => human(text)) })
    await store.begin(run)
    assert.deepEqual(await texts(run.sessionKey, 2), ['2 c', '3 d'])
    assert.deepEqual(await texts(run.sessionKey, 4), [])
    assert.deepEqual(await store.history(`not ${tenant}`, run.sessionKey, 0), [])
  })

  test('text is stored unchanged, whatever its characters', async () => {
    const { newRun, store, texts } = storeOf(database())
    const text = `'; drop table runs; -- "\\ \n\t ü 🙂 ${'x'.repeat(100_000)}`
    const run = newRun({ messages: [human(text)] })
    await store.begin(run)
    assert.deepEqual(await texts(run.sessionKey), [`0 ${text}`])
    assert.deepEqual((await store.find(run))!.request, run.request)
  })
}

function registerOwners(database: () => Database): void {
  test('owners of a request id are found within their tenant, the caller first; tombstones count, tool executions do not', async () => {
    const { store, tenant, start, newRun } = storeOf(database())
    const requestId = 'r'
    const owners = ['agent-core ann', 'agent-core bob', 'https://idp bob', 'agent-core a bob', 'agent-core bobby']
    for (const owner of owners) await start({ owner, requestId, sessionId: owner })
    await start({ owner: 'agent-core eve', requestId: 'other', sessionId: 'x' })
    await createExecutionStore(database()).begin({
      ...{ tenant, owner: 'agent-core tom', requestId, sessionId: 's', bodyHash: '', holder: 'p', agent: 'a', now: hour },
    })
    const of = (owner: string, from: { issuer?: string; sub?: string } = {}, where = tenant) =>
      store.ownersOf({ tenant: where, owner, requestId }, { issuer: undefined, sub: undefined, ...from })
    assert.deepEqual(await of('https://idp bob'), ['https://idp bob', 'agent-core a bob'])
    assert.equal((await of('agent-core tom')).length, 2)
    assert.deepEqual(await of('x', { sub: 'bob' }), ['agent-core bob', 'https://idp bob'])
    assert.deepEqual(await of('x', { sub: 'a bob' }), ['agent-core a bob'])
    assert.deepEqual(await of('x', { sub: 'bo' }), [])
    assert.deepEqual(await of('x', { sub: 'tom' }), [])
    assert.deepEqual(await of('x', { issuer: 'https://idp' }), ['https://idp bob'])
    assert.deepEqual(await of('x', { issuer: 'https://id' }), [])
    assert.deepEqual(await of('x', { issuer: 'agent-core', sub: 'bobby' }), ['agent-core bobby'])
    assert.deepEqual(await of('agent-core ann', {}, `not ${tenant}`), [])
    const sessions = createSessionStore(database())
    const removed = newRun({ owner: 'agent-core bobby' })
    assert.ok(await sessions.remove(removed, 'agent-core bobby', { jobId: randomUUID(), now: hour }))
    assert.deepEqual(await of('x', { sub: 'bobby' }), ['agent-core bobby'])
  })
}

function registerText(database: () => Database): void {
  test('characters that a database refuses become U+FFFD without an error', async () => {
    const { newRun, store, texts, session } = storeOf(database())
    const run = newRun({ messages: [human('a\0b\ud800c')], shortName: 'a\0' })
    const turn = await running(store, run)
    assert.deepEqual((await store.find(run))!.request, run.request)
    await store.finish(run, 1, endOf(turn, { message: ai('\0'), log: { input: '\0', events: [] } }))
    assert.deepEqual(await texts(run.sessionKey), ['0 a\uFFFDb\uFFFDc', '1 \uFFFD'])
    assert.equal((await session())!.short_name, 'a\uFFFD')
    assert.equal((await store.find(run))!.log!.input, '\0')
  })
}

function registerSessions(database: () => Database): void {
  test('a message is read by its index; existing session keys are recognized', async () => {
    const { tenant, start } = storeOf(database())
    const sessions = createSessionStore(database())
    const { turn } = await start({ sessionId: 'x' })
    const at = async (index: number, of = tenant) => (await sessions.message(of, turn.session, index))?.role
    assert.equal(await at(0), 'human')
    for (const index of [1, 2 ** 31, 2 ** 60]) assert.equal(await at(index), undefined)
    assert.equal(await at(0, `not ${tenant}`), undefined)
    assert.deepEqual(await existingSessions(database(), ['none', turn.session]), new Set([turn.session]))
  })

  test('a session is found by its owner, and by others of the tenant only with anyOwner', async () => {
    const { tenant, start } = storeOf(database())
    const sessions = createSessionStore(database())
    const ann = await start({ sessionId: 'x', now: hour })
    await start({ sessionId: 'x', owner: 'agent-core bob', now: hour + 5 })
    const find = async (owner: string, anyOwner: boolean, of = tenant) =>
      (await sessions.find({ tenant: of, owner }, 'x', { anyOwner }))?.owner
    assert.equal(await find('agent-core ann', false), 'agent-core ann')
    assert.equal(await find('agent-core ann', true), 'agent-core ann')
    assert.equal(await find('agent-core root', true), 'agent-core bob')
    assert.equal(await find('agent-core root', false), undefined)
    assert.equal(await find('agent-core ann', true, `not ${tenant}`), undefined)
    const messages = await sessions.messages(tenant, ann.turn.session)
    assert.deepEqual(messages, [{ index: 0, role: 'human', content: 'hello', createdAt: hour, data: undefined }])
    assert.deepEqual(await sessions.messages(`not ${tenant}`, ann.turn.session), [])
  })

  test('sessions are listed by latest activity in pages, without duplicates and gaps', async () => {
    const { tenant, start, store } = storeOf(database())
    const sessions = createSessionStore(database())
    const owners = ['agent-core ann', 'agent-core bob']
    for (const owner of owners) {
      // Several of the same millisecond.
      for (let n = 0; n < 7; n += 1) await start({ owner, sessionId: `s${n}`, now: hour + Math.floor(n / 3) })
    }
    const again = await start({ owner: 'agent-core ann', sessionId: 'old', now: hour - 10 })
    await store.finish(again.run, 1, endOf(again.turn, { endedAt: hour + 50 }))
    for (const anyOwner of [false, true]) {
      const who = { tenant, owner: 'agent-core ann' }
      const seen: string[] = []
      let page = await sessions.list(who, { limit: 4, anyOwner, before: undefined })
      while (page.length > 0) {
        seen.push(...page.map(({ owner, sessionId }) => `${sessionId} ${owner.slice(-3)}`))
        page = await sessions.list(who, { limit: 4, anyOwner, before: page.at(-1) })
      }
      const ids = ['s6', 's5', 's4', 's3', 's2', 's1', 's0']
      const expected = anyOwner ? ids.flatMap((id) => [`${id} bob`, `${id} ann`]) : ids.map((id) => `${id} ann`)
      assert.deepEqual(seen, ['old ann', ...expected])
    }
    assert.deepEqual(
      await sessions.list({ tenant: `not ${tenant}`, owner: owners[0]! }, { limit: 9, anyOwner: true, before: undefined }),
      [],
    )
  })
}

function registerAccessKeys(database: () => Database): void {
  test('an access key is stored once, and keys are listed newest first and per tenant', async () => {
    const keys = createAccessKeyStore(database())
    const tenant = randomUUID()
    const record = (jti: string, createdAt: number, of = tenant) => ({
      jti: `${tenant} ${jti}`,
      tenant: of,
      sub: 'ann',
      roles: ['user', 'auditor'],
      createdAt,
      expiresAt: hour + 100,
    })
    const [first, second, foreign] = [record('1', hour), record('2', hour + 1), record('3', hour + 2, `not ${tenant}`)]
    for (const one of [first, foreign, second]) await keys.insert(one)
    assert.deepEqual(await keys.list(tenant), [second, first])
    const all = (await keys.list()).filter(({ jti }) => jti.startsWith(tenant))
    assert.deepEqual(all, [foreign, second, first])
    await keys.insert({ ...first, sub: 'bob' })
    assert.deepEqual(await keys.list(tenant), [second, first])
  })

  test('an access key is revoked once, and found by the time of its revocation', async () => {
    const keys = createAccessKeyStore(database())
    const jti = randomUUID()
    const tenant = randomUUID()
    await keys.insert({ jti, tenant, sub: 'ann', roles: [], createdAt: hour, expiresAt: hour + 100 })
    const since = async (ms: number) => (await keys.revokedSince(ms)).filter((one) => one.jti === jti)
    assert.deepEqual(await since(0), [])
    const both = await Promise.all([keys.revoke(jti, hour + 5), keys.revoke(jti, hour + 5)])
    assert.deepEqual(new Set(both.map((revocation) => revocation?.isNew)), new Set([false, true]))
    assert.deepEqual(await keys.revoke(jti, hour + 9), { jti, revokedAt: hour + 5, isNew: false })
    assert.equal(await keys.revoke('unknown', hour), undefined)
    assert.deepEqual(await since(hour + 5), [{ jti, revokedAt: hour + 5 }])
    assert.deepEqual(await since(hour + 6), [])
    assert.equal((await keys.list(tenant))[0]!.revokedAt, hour + 5)
  })
}
