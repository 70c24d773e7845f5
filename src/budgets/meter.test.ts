import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BudgetSpent, toRefusal } from '../agent/meter.ts'
import { ModelError, type Model, type ModelReply, type ModelRequest, type ModelUsage } from '../agent/model.ts'
import type { Budget } from '../configuration/budget-schema.ts'
import type { ModelPrices } from '../configuration/model-schema.ts'
import type { Account, AccountState, Amount, Reservation, Reserved, Settlement, Warning } from './budget.ts'
import { createBudgets } from './budgets.ts'
import { leastOutput, type Meter } from './meter.ts'
import { canPay } from './refusal.ts'

const day = Date.parse('2026-11-28T12:00:00Z')
const budget = (limit: Budget['limit'], more: Partial<Budget> = {}): Budget => ({
  name: 'caller-day',
  scope: 'caller',
  window: 'day',
  timezone: 'UTC',
  limit,
  on_exceeded: 'stop',
  ...more,
})
const model = { name: 'm', seesImages: false, reply: () => Promise.reject(new Error('not asked')) } as Model
/** 10^-9 USD: 1,000 for a token of input, 3,000 for one of output. */
const cheap: ModelPrices = { rates: { input: 1, output: 3 } }
/** 176 bytes and those of the wrapper: 100 tokens. */
const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  system: '',
  messages: [{ role: 'user', text: 'x'.repeat(176) }],
  tools: [],
  ...more,
})
const used = (input: number, output: number, more: Partial<ModelUsage> = {}): ModelUsage => ({
  model: 'm',
  input,
  output,
  cachedInput: 0,
  reasoning: 0,
  ...more,
})
const replyOf = (usage: ModelUsage, more: Partial<ModelReply> = {}): ModelReply => ({
  text: '',
  reasoning: '',
  toolCalls: [],
  finish: 'stop',
  usage,
  ...more,
})

const noOthers: (spent: Amount) => unknown = () => undefined

/** A store with one state for all windows, whose other calls `meanwhile` makes before each reservation. */
function setUp({ budgets = [budget({ usd: 1 })], prices = () => cheap, clock = () => day, fence = 1, meanwhile = noOthers } = {}) {
  const spent: Amount = { nanoUsd: 0, tokens: 0 }
  const held: Reservation[] = []
  const settled: Settlement[] = []
  const warned: string[] = []
  const stateOf = (account: Account): AccountState => ({
    key: account,
    spent: { ...spent },
    reserved: held.reduce((sum, { amount }) => ({ nanoUsd: sum.nanoUsd + amount.nanoUsd, tokens: sum.tokens + amount.tokens }), {
      nanoUsd: 0,
      tokens: 0,
    }),
    overrun: { nanoUsd: 0, tokens: 0 },
    estimated: { nanoUsd: 0, tokens: 0 },
    limit: account.limit,
    override: undefined,
    isWarned: warned.length > 0,
  })
  const store = {
    async reserve(reservation: Reservation): Promise<Reserved> {
      meanwhile(spent)
      const { accounts, amount } = reservation
      if (accounts.some(({ windowStart, resetsAt = Infinity }) => clock() < windowStart || clock() >= resetsAt))
        return { isHeld: false, now: clock() }
      if (!accounts.every((account) => canPay(stateOf(account), amount))) return { isHeld: false, states: accounts.map(stateOf) }
      held.push(reservation)
      return { isHeld: true, states: accounts.map(stateOf) }
    },
    async settle(_: string, settlements: readonly Settlement[]) {
      settled.push(...settlements)
      for (const { id, cost } of settlements) {
        held.splice(
          held.findIndex((reservation) => reservation.id === id),
          1,
        )
        spent.nanoUsd += cost.nanoUsd
        spent.tokens += cost.tokens
      }
    },
    warn: async (_: string, { account }: Warning) => warned.push(account.budget) === 1,
    look: assert.fail,
    settleLost: assert.fail,
    forget: assert.fail,
  }
  let ids = 0
  const payer = { tenant: 't', owner: 'o', requestId: 'r', operation: 'chain', fence }
  const opened = createBudgets({
    store,
    now: () => day,
    holder: 'p',
    newId: () => `id${++ids}`,
    onFault: assert.fail,
    adminTenant: 'default',
  })
  const config = { budgets, limits: { reserve_output_tokens: 8192 } }
  const agent = { config, findPrices: prices, model } as unknown as Parameters<typeof opened.open>[1]
  const meter = opened.open(payer, agent)
  /** Begins another run, whose store holds the reservation of the begin. */
  async function begin() {
    const reservation = opened.reserveAhead(payer, agent)
    const reserved = reservation && (await store.reserve(reservation))
    const states = reserved && 'states' in reserved && reserved.isHeld ? reserved.states : undefined
    return opened.open(payer, agent, reservation && states && { reservation, states })
  }
  return { meter, begin, held, settled, spent, warned }
}

test('the length of an answer that is sent is what was held: of the request, else of the model, else the default', async () => {
  const { meter, held } = setUp()
  const lengthOf = async (...asked: Parameters<Meter['hold']>) => (await meter.hold(...asked)).request.options?.maxOutputTokens
  assert.equal(await lengthOf(model, request({ options: { maxOutputTokens: 10, temperature: 1 } })), 10)
  assert.equal(await lengthOf({ ...model, maxOutputTokens: 500 }, request()), 500)
  assert.equal(await lengthOf(model, request()), 8192)
  assert.deepEqual(
    held.map(({ amount }) => amount),
    [10, 500, 8192].map((output) => ({ nanoUsd: 100_000 + output * 3000, tokens: 100 + output })),
  )
})

test('an answer becomes as short as the budget pays for, and not shorter than 256 tokens or what was asked for', async () => {
  const { meter } = setUp({ budgets: [budget({ tokens: 100 + 300 })] })
  assert.equal((await meter.hold(model, request())).request.options?.maxOutputTokens, 300)
  const poor = setUp({ budgets: [budget({ tokens: 100 + leastOutput - 1 })] })
  await assert.rejects(poor.meter.hold(model, request()), (error) => {
    assert.ok(error instanceof BudgetSpent)
    assert.deepEqual([error.needed, error.resetsAt], [{ tokens: 356 }, Date.parse('2026-11-29T00:00:00Z')])
    return true
  })
  assert.equal(poor.held.length, 0)
  assert.equal((await poor.meter.hold(model, request({ options: { maxOutputTokens: 20 } }))).request.options?.maxOutputTokens, 20)
})

test('reasoning is held beside the answer, and neither takes the place of the other', async () => {
  const thinking = { ...model, reasoningTokens: 1000 }
  const { meter, held } = setUp({ budgets: [budget({ tokens: 1500 })] })
  assert.equal((await meter.hold(thinking, request())).request.options?.maxOutputTokens, 400)
  assert.equal(held[0]?.amount.tokens, 1500)
  const poor = setUp({ budgets: [budget({ tokens: 1355 })] })
  await assert.rejects(poor.meter.hold(thinking, request()), BudgetSpent)
  assert.equal((await poor.meter.hold(thinking, request({ options: { reasoningTokens: 0 } }))).request.options?.maxOutputTokens, 1255)
})

test('an attempt costs what the provider counted: cached input as cached, a long call as long, written input as written', async () => {
  const prices = {
    rates: { input: 1, output: 3, cached_input: 0.1, cache_write: 2 },
    long: { above: 1000, rates: { input: 5, output: 9 } },
  }
  const { meter } = setUp({ prices: () => prices })
  for (const usage of [
    used(100, 10, { cachedInput: 100 }),
    used(2000, 10),
    used(100, 0, { cacheWrite: 100 }),
    used(100, 10, { reasoning: 9 }),
  ])
    (await meter.hold(model, request())).end({ reply: replyOf(usage) }, 0)
  assert.deepEqual(
    meter.unsettled.map(({ cost }) => cost.nanoUsd),
    [10_000 + 30_000, 10_000_000 + 90_000, 200_000, 130_000],
  )
})

test('an attempt without a count costs its input and what arrived; one for which the provider did nothing is free', async () => {
  const { meter } = setUp()
  const costOf = async (...end: Parameters<Awaited<ReturnType<Meter['hold']>>['end']>) => {
    const { end: endAttempt } = await meter.hold(model, request({ options: { maxOutputTokens: 300 } }))
    endAttempt(...end)
    return meter.unsettled.at(-1)?.cost.tokens
  }
  const down = (isFree: boolean) => new ModelError('unavailable', 'down', { isFree })
  assert.equal(await costOf({ error: down(true) }, 0), 0)
  assert.equal(await costOf({ error: down(false) }, 0), 100)
  assert.equal(await costOf({ error: down(false) }, 41), 121)
  assert.equal(await costOf({}, 40), 120)
  assert.equal(await costOf({ error: down(false) }, 1_000_000), 400)
  // A server that sends no usage has worked all the same.
  assert.equal(await costOf({ reply: replyOf(used(0, 0)) }, 40), 120)
  const calls = [{ name: 'look', arguments: '{"a":1}' }]
  assert.equal(await costOf({ reply: replyOf(used(0, 0), { toolCalls: calls }) }, 0), 106)
})

test('other calls that take what was left make the answer shorter, and at last refuse it', async () => {
  let takes = 0
  const some = setUp({ budgets: [budget({ tokens: 2000 })], meanwhile: (spent) => takes++ < 2 && (spent.tokens += 400) })
  assert.equal((await some.meter.hold(model, request())).request.options?.maxOutputTokens, 1100)
  const always = setUp({ budgets: [budget({ tokens: 100_000 })], meanwhile: (spent) => (spent.tokens += 30_000) })
  await assert.rejects(always.meter.hold(model, request({ options: { maxOutputTokens: 99_000 } })), BudgetSpent)
  assert.equal(always.held.length, 0)
})

test('windows are those of the clock of the database, which a process follows', async () => {
  const tomorrow = day + 86_400_000
  const { meter, held } = setUp({ clock: () => tomorrow })
  await meter.hold(model, request())
  assert.equal(held[0]?.accounts[0]?.windowStart, Date.parse('2026-11-29T00:00:00Z'))
  let now = day
  const mad = setUp({ clock: () => (now += 86_400_000) })
  await assert.rejects(mad.meter.hold(model, request()), /clock of the database runs away/)
})

test('a price that changes meanwhile applies to the attempts that begin later', async () => {
  let price = cheap
  const { meter } = setUp({ prices: () => price })
  const before = await meter.hold(model, request())
  price = { rates: { input: 100, output: 100 } }
  const after = await meter.hold(model, request())
  for (const { end } of [before, after]) end({ reply: replyOf(used(100, 0)) }, 0)
  assert.deepEqual(
    meter.unsettled.map(({ cost }) => cost.nanoUsd),
    [100_000, 10_000_000],
  )
})

test('attempts of a run wait for its commit; those outside of runs, and vectors, are settled on their own', async () => {
  const run = setUp()
  ;(await run.meter.hold(model, request())).end({ reply: replyOf(used(100, 0)) }, 0)
  ;(await run.meter.holdTexts({ name: 'e' }, ['xxxx', 'y'])).end(3)
  assert.deepEqual([run.meter.unsettled.length, run.settled.map(({ cost }) => cost.tokens)], [1, [3]])
  const job = setUp({ fence: 0 })
  ;(await job.meter.hold(model, request())).end({ reply: replyOf(used(100, 0)) }, 0)
  ;(await job.meter.holdTexts({ name: 'e' }, ['xxxx', 'y'])).end(undefined)
  ;(await job.meter.holdTexts({ name: 'e' }, ['xxxx', 'y'])).end(undefined, true)
  assert.deepEqual([job.meter.unsettled.length, job.settled.map(({ cost }) => cost.tokens)], [0, [100, 5, 0]])
})

test('a warning is sent when spent and reserved reach the share, once', async () => {
  const { meter, warned } = setUp({ budgets: [budget({ tokens: 1000 }, { warn_at: 0.8 })] })
  await meter.hold(model, request({ options: { maxOutputTokens: 300 } }))
  assert.deepEqual(warned, [])
  await meter.hold(model, request({ options: { maxOutputTokens: 300 } }))
  await meter.hold(model, request({ options: { maxOutputTokens: 50 } }))
  assert.deepEqual(warned, ['caller-day'])
})

test('attempts that are over are settled before a call is refused or gets a shorter answer', async () => {
  const { meter, spent } = setUp({ budgets: [budget({ tokens: 1000 })] })
  const first = await meter.hold(model, request({ options: { maxOutputTokens: 500 } }))
  const second = await meter.hold(model, request({ options: { maxOutputTokens: 200 } }))
  first.end({ reply: replyOf(used(10, 5)) }, 0)
  second.end({ reply: replyOf(used(10, 5)) }, 0)
  assert.equal((await meter.hold(model, request({ options: { maxOutputTokens: 700 } }))).request.options?.maxOutputTokens, 700)
  assert.deepEqual([spent.tokens, meter.unsettled], [30, []])
})

test('after a refused pause the meter stops instead of pausing again, and pays for no call that offers tools', async () => {
  const { meter } = setUp({ budgets: [budget({ tokens: 0 }, { on_exceeded: 'pause' })] })
  const refusal = () => meter.hold(model, request()).catch((error: BudgetSpent) => error.onExceeded)
  assert.equal(await refusal(), 'pause')
  meter.rejected = toRefusal({ callId: 'c', tool: 'caller-day', input: { needed: { tokens: 1 } }, by: 'budget' })
  assert.equal(await refusal(), 'stop')
  const rich = setUp()
  rich.meter.rejected = meter.rejected
  const tools = [{ name: 'add', description: '', schema: {}, effect: 'read' as const }]
  await assert.rejects(rich.meter.hold(model, request({ tools })), meter.rejected)
  assert.ok(await rich.meter.hold(model, request()))
})

test('the begin of a run holds what first calls cost, and the first call holds nothing more', async () => {
  const { meter, begin, held } = setUp({ budgets: [budget({ tokens: 1_000_000 })] })
  await meter.hold(model, request())
  const run = await begin()
  assert.deepEqual([held.length, held[1]?.amount.tokens], [2, 10_365])
  const call = await run.hold(model, request({ options: { maxOutputTokens: 1000 } }))
  assert.deepEqual([held.length, call.held.tokens, call.request.options?.maxOutputTokens], [2, 10_365, 1000])
  call.end({ reply: replyOf(used(100, 7)) }, 0)
  await run.hold(model, request())
  assert.deepEqual(
    [held.length, run.due().map(({ id, cost }) => ({ id, cost }))],
    [3, [{ id: held[1]?.id, cost: { nanoUsd: 121_000, tokens: 107 } }]],
  )
})

test('a first call that costs more than the begin has held holds its own amount instead', async () => {
  const { meter, begin, held, settled } = setUp({ budgets: [budget({ tokens: 1_000_000 })] })
  await meter.hold(model, request())
  const run = await begin()
  const ahead = held[1]?.id
  const call = await run.hold(model, request({ options: { maxOutputTokens: 90_000 } }))
  assert.deepEqual([held.length, call.held.tokens, run.due()], [2, 90_100, []])
  assert.deepEqual(settled, [{ id: ahead, cost: { nanoUsd: 0, tokens: 0 } }])
})

test('a commit before the first call releases what the begin has held, and the call holds its own amount', async () => {
  const { meter, begin, held } = setUp({ budgets: [budget({ tokens: 1_000_000 })] })
  await meter.hold(model, request())
  const run = await begin()
  assert.equal(run.due().length, 1)
  await run.hold(model, request())
  assert.equal(held.length, 3)
})

test('where much of the budget is used up, or the session has a budget, the begin of a run holds nothing', async () => {
  for (const budgets of [
    [budget({ tokens: 100_000 })],
    [budget({ tokens: 1_000_000 }), budget({ tokens: 1 }, { name: 's', scope: 'session' })],
  ]) {
    const { meter, begin, held } = setUp({ budgets })
    await meter.hold(model, request())
    await begin()
    assert.equal(held.length, 1)
  }
})
