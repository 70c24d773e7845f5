import assert from 'node:assert/strict'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { after, test, type TestContext } from 'node:test'
import type { ModelServerRequest } from '../fixtures/model-server.ts'
import { startService } from '../fixtures/service.ts'

/** Texts of the statements of all databases of the process. */
let executed: string[] = []
const originals = { all: StatementSync.prototype.all, run: StatementSync.prototype.run, exec: DatabaseSync.prototype.exec }
StatementSync.prototype.all = function (...args) {
  executed.push(this.sourceSQL)
  return Reflect.apply(originals.all, this, args)
}
StatementSync.prototype.run = function (...args) {
  executed.push(this.sourceSQL)
  return Reflect.apply(originals.run, this, args)
}
DatabaseSync.prototype.exec = function (sql) {
  executed.push(sql)
  originals.exec.call(this, sql)
}
after(() => {
  Object.assign(StatementSync.prototype, { all: originals.all, run: originals.run })
  DatabaseSync.prototype.exec = originals.exec
})

const samples = 12
/** What a chat does behind its answer belongs to the chat. */
const behindMs = 20

const script = ({ body }: ModelServerRequest) => {
  const { role, content } = body.messages.at(-1)
  const isFirst = role === 'user' && content === 'time'
  return { ...(isFirst ? { calls: [{ name: 'current_time', arguments: '{}' }] } : { text: 'an answer' }), usage: { input: 10, output: 5 } }
}

const budgets = [
  { name: 'callers', scope: 'caller', window: 'day', limit: { usd: 1000 } },
  { name: 'tenants', scope: 'tenant', window: 'month', limit: { tokens: 1_000_000_000 } },
]

/** The statements and transactions of a chat with one model call, and of one with two; the cheaper quarter, because heartbeats and sweeps count too. */
async function costsOf(t: TestContext, config: object) {
  const { client } = await startService(t, {
    script,
    modelFields: { prices: { input: 1, output: 3 } },
    config: { tools: [{ name: 'current_time' }], ...config },
  })
  const ofText = async (text: string) => {
    const chats: string[][] = []
    for (let n = -2; n < samples; n++) {
      executed = []
      assert.equal((await client.chat(text, { 'session-id': `${text}-${n}` })).status, 200)
      await sleep(behindMs)
      // The first ones learn what is remembered.
      if (n >= 0) chats.push(executed)
    }
    const low = (of: (chat: string[]) => number) => chats.map(of).toSorted((a, b) => a - b)[samples / 4]!
    return {
      statements: low((chat) => chat.filter((sql) => !/^(begin|commit)/.test(sql)).length),
      transactions: low((chat) => chat.filter((sql) => sql.startsWith('begin')).length),
      ofBudgets: Math.max(...chats.map((chat) => chat.filter((sql) => sql.includes('budget_')).length)),
    }
  }
  return { one: await ofText('hi'), two: await ofText('time') }
}

/** Counts of the version before there were budgets. */
const before = { one: { statements: 8, transactions: 2 }, two: { statements: 11, transactions: 3 } }
/** A hold reads, changes and keeps each window; a settlement finds its rows, changes each window and removes the rows. */
const perCall = 10

test('SQLite: a chat without budgets executes no statement for budgets; two budgets cost at most one more transaction for each model call', async (t) => {
  const plain = await costsOf(t, {})
  const paid = await costsOf(t, { budgets })
  for (const [chat, calls] of [
    ['one', 1],
    ['two', 2],
  ] as const) {
    const { statements, transactions } = before[chat]
    const costs = JSON.stringify({ plain: plain[chat], paid: paid[chat] })
    assert.equal(plain[chat].ofBudgets, 0)
    assert.ok(plain[chat].statements <= statements && plain[chat].transactions <= transactions, costs)
    assert.ok(paid[chat].statements <= statements + calls * perCall && paid[chat].transactions <= transactions + calls, costs)
    assert.ok(paid[chat].ofBudgets > 0, 'the counter sees budgets')
  }
})
