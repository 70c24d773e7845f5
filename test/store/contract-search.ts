import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { SessionRecord } from '../../src/sessions/session-store.ts'
import type { Database } from '../../src/store/database.ts'
import { createSessionStore } from '../../src/store/sessions/sessions.ts'
import { ai, endOf, hour, human, storeOf } from './fixture.ts'
import { storeContract } from './suites.ts'

storeContract('search of sessions', registerSearch)

const owner = 'agent-core ann'

function registerSearch(database: () => Database): void {
  function searchOf() {
    const { tenant, store, start } = storeOf(database())
    const sessions = createSessionStore(database())
    let now = hour
    const chat = async (sessionId: string, question: string, answer: string, by = owner) => {
      now += 1
      const { run, turn } = await start({ sessionId, owner: by, shortName: question.slice(0, 40), messages: [human(question)], now })
      await store.finish(run, 1, endOf(turn, { message: ai(answer), endedAt: now }))
    }
    const search = async (words: string[], change: { limit?: number; anyOwner?: boolean; before?: SessionRecord; tenant?: string } = {}) =>
      sessions.search({ tenant: change.tenant ?? tenant, owner }, { words, limit: 10, anyOwner: false, before: undefined, ...change })
    const found = async (...words: string[]) => (await search(words)).sessions.map(({ sessionId }) => sessionId)
    return { tenant, chat, search, found }
  }

  test('names and messages are searched in any case, and every character of a word is literal', async () => {
    const { chat, found } = searchOf()
    await chat('a', 'Straße nach ÖSTERREICH', 'Ca. 50 % (brutto)')
    await chat('b', 'SELECT * FROM t_1 WHERE a[0] = \\n', 'österreich?')
    await chat('c', 'nothing', 'At all: ^$.|{}+-#')
    assert.deepEqual(await found('österreich'), ['b', 'a'])
    assert.deepEqual(await found('ÖSTERREICH', 'straße'), ['a'])
    assert.deepEqual(await found('straße', 'brutto'), [])
    const matches = { '%': 'a', '(brutto)': 'a', _: 'b', '*': 'b', 'a[0]': 'b', '\\n': 'b', '?': 'b', '^$.|{}+-#': 'c', '[': 'b', ']': 'b' }
    for (const [word, sessionId] of Object.entries(matches)) assert.deepEqual(await found(word), [sessionId], word)
    for (const word of ['5_', '.*', 'n.thing', '[a-z]', '\\d', '\0', "'", '"', '(?i)x', '***=a'])
      assert.deepEqual(await found(word), [], word)
  })

  test('long texts that almost match do not stop the process', async () => {
    const { chat, found } = searchOf()
    for (let n = 0; n < 5; n++) await chat('long', 'a'.repeat(200_000), 'yes')
    let longestMs = 0
    let at = performance.now()
    const timer = setInterval(() => {
      longestMs = Math.max(longestMs, performance.now() - at)
      at = performance.now()
    }, 5)
    try {
      for (const word of [`${'a'.repeat(199)}b`, `${'a'.repeat(198)}é`]) assert.deepEqual(await found(word), [])
    } finally {
      clearInterval(timer)
    }
    assert.ok(longestMs < 1000, `${longestMs} ms`)
  })

  test('every message of a long session is read', async () => {
    const { chat, found } = searchOf()
    await chat('s', 'first', 'yes')
    for (let n = 0; n < 40; n++) await chat('s', `question ${n}.`, 'yes')
    await chat('s', 'needle', 'yes')
    await chat('t', 'other', 'yes')
    for (const word of ['first', 'question 20.', 'needle']) assert.deepEqual(await found(...word.split(' ')), ['s'], word)
  })

  test('a page ends when full, and the next page goes on from there', async () => {
    const { chat, search } = searchOf()
    for (let n = 0; n < 9; n++) await chat(`s${n}`, n % 2 === 0 ? 'even' : 'odd', 'yes')
    const first = await search(['even'], { limit: 2 })
    assert.deepEqual(
      { ids: first.sessions.map(({ sessionId }) => sessionId), to: first.scannedTo?.sessionId },
      { ids: ['s8', 's6'], to: 's6' },
    )
    const second = await search(['even'], { before: first.scannedTo! })
    assert.deepEqual(
      { ids: second.sessions.map(({ sessionId }) => sessionId), to: second.scannedTo },
      { ids: ['s4', 's2', 's0'], to: undefined },
    )
  })

  test('sessions of other owners and tenants are found by administrators of the tenant only', async () => {
    const { tenant, chat, search } = searchOf()
    await chat('mine', 'word', 'yes')
    await chat('theirs', 'word', 'yes', 'agent-core bob')
    const ids = async (change: Parameters<typeof search>[1]) => (await search(['word'], change)).sessions.map(({ sessionId }) => sessionId)
    assert.deepEqual(await ids({}), ['mine'])
    assert.deepEqual(await ids({ anyOwner: true }), ['theirs', 'mine'])
    assert.deepEqual(await ids({ anyOwner: true, tenant: `not ${tenant} ${randomUUID()}` }), [])
  })
}
