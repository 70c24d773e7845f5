import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { event, sendEvent, until } from '../../test/fixtures/async-client.ts'
import { makeFolder, serve, type RunningService } from '../../test/fixtures/process.ts'
import { databases } from './databases.ts'
import { prices, startHoldingModel } from './model.ts'

export interface KillOptions {
  database: keyof typeof databases
  kills: number
  /** New chats before each kill. */
  chats: number
  /** Numbers from 0 to 1. */
  random(): number
  onKill?(kill: number): void
}

export interface KillReport {
  kills: number
  /** Model calls that were cut off by a kill. */
  lost: number
  answered: number
  /** Runs by finish reason. */
  runs: Record<string, number>
  /** 10^-9 USD. */
  counted: number
  estimated: number
  spent: number
  faults: string[]
}

const budgets = [
  { name: 'callers', scope: 'caller', window: 'month', limit: { usd: 100 } },
  { name: 'runs', scope: 'run', limit: { tokens: 100_000 } },
]
const limits = { reconnect_grace: 1 }
/** A busy machine needs minutes to take so many runs over. */
const patienceMs = 400_000

/**
 * Kills a service again and again while the model holds requests back, and compares the payments of the budgets with the amounts that
 * the model has counted and the amounts reserved for interrupted calls. `scope` removes the created data.
 */
export async function killBetweenRequestAndReply(scope: Pick<TestContext, 'after'>, options: KillOptions): Promise<KillReport> {
  const { kills, chats, random, onKill } = options
  const { environment, open } = await databases[options.database](scope)
  const folder = await makeFolder(scope)
  let life = 0
  const model = await startHoldingModel(scope, (requestId) => !requestId.startsWith(`${life}-`), random)
  const primary = { provider: 'openai-compatible', model: 'scripted', base_url: model.url, prices, max_output_tokens: 300 }
  const config = { llms: { primary }, tools: [{ name: 'calculator' }], budgets, limits }
  await writeFile(path.join(folder, 'agent.yaml'), JSON.stringify(config))
  const books = createBooks(open(folder))
  const faults: string[] = []

  for (life = 1; life <= kills; life++) {
    model.holding = 'some'
    model.held.length = 0
    const service = await serve(scope, folder, environment)
    const answered = await service.client.chat(`${life}-answered answered`)
    if (answered.status !== 200) faults.push(`a chat of life ${life} was answered with status ${answered.status}: ${answered.text}`)
    const asked = Array.from({ length: chats }, (_, n) => ask(service, `${life}-${n}`, n, random))
    await until(
      async () => new Set(model.held.filter((id) => id.startsWith(`${life}-`))).size,
      (count) => count === chats,
      patienceMs,
    )
    // From here on nothing is answered, and what was answered before is settled: each reservation of this life belongs to a request that is held.
    model.holding = 'all'
    await until(
      async () => (await books.newRequests()).join(' ') === model.held.toSorted().join(' '),
      (isQuiet) => isQuiet,
      patienceMs,
    )
    service.child.kill('SIGKILL')
    await Promise.all([...asked, service.ended])
    faults.push(...(await books.close()).map((fault) => `kill ${life}: ${fault}`))
    onKill?.(life)
  }

  model.holding = 'none'
  const service = await serve(scope, folder, environment)
  for (const count of [books.unended, books.reservations]) await until(count, (left) => left === 0, patienceMs)
  const report = { kills, lost: books.lost.size, answered: model.answered, runs: await books.runs(), counted: model.counted }
  const sums = await books.sums()
  service.child.kill('SIGTERM')
  await service.ended
  const estimated = [...books.lost.values()].reduce((sum, amount) => sum + amount, 0)
  const isPaid = sums.estimated === estimated && sums.spent === model.counted + estimated && sums.reserved === 0
  if (!isPaid)
    faults.push(`the window has ${JSON.stringify(sums)}, but ${model.counted} were counted and ${estimated} reserved for lost calls`)
  return { ...report, ...sums, faults }
}

/**
 * Sends a chat of one of four kinds. The model holds the chat at the first call or behind a tool call. Resolves when the client is
 * answered or cut off.
 */
async function ask({ client }: RunningService, id: string, n: number, random: () => number): Promise<unknown> {
  const text = `${id} ${random() < 0.3 ? 'tool' : 'plain'}`
  const headers = { 'request-id': id, 'session-id': id }
  const body = { messages: [{ role: 'user', content: text }] }
  const isCut = () => undefined
  if (n % 4 === 1) return sendEvent(client, event(id, body), headers).catch(isCut)
  if (n % 4 === 2)
    return client
      .stream(text, headers)
      .then((stream) => stream.rest(), isCut)
      .catch(isCut)
  return client.chat(n % 4 === 3 ? { ...body, on_disconnect: 'continue' } : body, headers).catch(isCut)
}

type Query = (sql: string) => Promise<Record<string, unknown>[]>

/** Reads what budgets have paid, and keeps what was reserved at each kill. */
function createBooks(query: Query) {
  /** The amounts of calls that were cut off, by reservation. */
  const lost = new Map<string, number>()
  const ofCallers = "select id, request_id, amount from budget_reservations where budget = 'callers'"
  const count = async (sql: string) => Number((await query(sql))[0]!['count'])
  const unended = "status in ('pending', 'running')"
  const hasRun = `exists (select 1 from runs where runs.tenant = budget_reservations.tenant and runs.owner = budget_reservations.owner
    and runs.request_id = budget_reservations.request_id and ${unended})`

  return {
    lost,
    /** The request ids of reservations that no earlier kill has left, in order. */
    async newRequests(): Promise<string[]> {
      const rows = await query(ofCallers)
      return rows
        .filter(({ id }) => !lost.has(String(id)))
        .map((row) => String(row['request_id']))
        .toSorted()
    },
    /** Keeps what a dead process has reserved. Resolves to faults. */
    async close(): Promise<string[]> {
      for (const { id, amount } of await query(ofCallers)) lost.set(String(id), Number(amount))
      const orphans = await count(`select count(*) as count from budget_reservations where not ${hasRun}`)
      return orphans > 0 ? [`${orphans} reservations are older than their run`] : []
    },
    unended: () => count(`select count(*) as count from runs where ${unended}`),
    reservations: () => count('select count(*) as count from budget_reservations'),
    async runs(): Promise<Record<string, number>> {
      const rows = await query('select coalesce(finish_reason, status) as ending, count(*) as count from runs group by 1 order by 1')
      return Object.fromEntries(rows.map((row) => [String(row['ending']), Number(row['count'])]))
    },
    async sums(): Promise<Record<'spent' | 'reserved' | 'estimated', number>> {
      const [window] = await query("select spent, reserved, estimated from budget_windows where budget = 'callers'")
      return { spent: Number(window!['spent']), reserved: Number(window!['reserved']), estimated: Number(window!['estimated']) }
    },
  }
}
