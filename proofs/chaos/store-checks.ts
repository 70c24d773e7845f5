import { ofKind, type Operation } from './history/operations.ts'
import type { Query } from './last-reads.ts'
import type { Costs } from './outside.ts'

/** Checks of the database at the end: no run is left, no session is held, and metrics count each run once. Returns anomalies as texts. */
export async function checkStore(query: Query, replicas: number): Promise<string[]> {
  const { anomalies, expectNone } = createExpectations(query)
  await expectNone('Runs that have not ended', `select request_id, status, holder from runs where status in ('pending', 'running')`)
  // A client that has given up before its answer leaves a call to decide. `checkEnds` tells of a client that was answered.
  const waiting = `select 1 from runs where runs.session = sessions.key and request_id = active_run and status = 'interrupted'`
  await expectNone(
    'Sessions held by a run',
    `select session_id, active_run from sessions where active_run is not null and not exists (${waiting})`,
  )
  // Such a session takes no more chats.
  await expectNone(
    'Sessions that count other messages than they have',
    `select session_id, message_count, count(idx)::int as messages from sessions
      left join messages on messages.tenant = sessions.tenant and messages.session = sessions.key
      group by sessions.key, session_id, message_count having message_count <> count(idx)`,
  )
  const [row] = await query('select count(*)::int as n from processes where alive_until > extract(epoch from now()) * 1000')
  if (row?.['n'] !== replicas) anomalies.push(`${String(row?.['n'])} of ${replicas} processes are alive`)
  await expectNone(
    'Runs counted twice in the metrics, or not at all',
    `select m.counted, r.ended from (select sum(success + error + cancelled + timeout)::int as counted from metrics) as m,
      (select count(*)::int as ended from runs where ended_at is not null and operation <> 'tool_execute') as r where m.counted < r.ended`,
  )
  return anomalies
}

/**
 * Checks the payments of budgets, at the end: no window is spent beyond the limit, nothing is reserved, and the spent amounts equal the
 * amounts that the model has counted, with the full amounts of calls with an unknown outcome. `limits`: the highest limit in USD that
 * was set for a budget.
 */
export async function checkBudgets(query: Query, costs: Costs, limits: ReadonlyMap<string, number>): Promise<string[]> {
  const { anomalies, expectNone } = createExpectations(query)
  const raised = `case budget ${[...limits].map(([budget, usd]) => `when '${budget}' then ${Math.round(usd * 1e9)}`).join(' ')} end`
  await expectNone(
    'Budgets spent beyond their limit',
    `select budget, subject, spent, reserved, overrun, usd_limit, usd_override from budget_windows
      where spent + reserved > coalesce(${limits.size > 0 ? raised : 'null'}, usd_override, usd_limit) + overrun
        or tokens_spent + tokens_reserved > coalesce(tokens_override, tokens_limit) + tokens_overrun`,
  )
  await expectNone('Reservations that are left', 'select budget, request_id, fence, holder, amount, created_at from budget_reservations')
  await expectNone(
    'Windows that disagree with their reservations',
    `select budget, subject, reserved, tokens_reserved from budget_windows as w
      where (reserved, tokens_reserved) <> (select coalesce(sum(amount), 0), coalesce(sum(tokens), 0) from budget_reservations as r
        where r.window_tenant = w.tenant and r.budget = w.budget and r.subject = w.subject and r.window_start = w.window_start)`,
  )
  const month = 'select coalesce(sum(spent), 0) as spent, coalesce(sum(tokens_spent), 0) as tokens from budget_windows where budget ='
  await expectNone(
    'Budgets of callers and of the tenant that have counted different calls',
    `select callers.spent as callers, tenant.spent as tenant from (${month} 'callers') as callers, (${month} 'tenant') as tenant
      where callers.spent <> tenant.spent or callers.tokens <> tenant.tokens`,
  )
  const [sums] = await query("select sum(spent) as spent, sum(estimated) as estimated from budget_windows where budget = 'tenant'")
  const [spent, estimated] = [Number(sums!['spent']), Number(sums!['estimated'])]
  const { whole, cut } = costs
  const text = `the tenant has spent ${spent}, of which ${estimated} are estimated; the model has counted ${whole}, and at most ${cut} for cut answers`
  console.log(`\nBudgets: ${text}`)
  if (spent < whole) anomalies.push(`Spent is below what was counted: ${text}`)
  if (spent - estimated > whole + cut) anomalies.push(`Spent is above what was counted: ${text}`)
  return anomalies
}

/** The longest time in which no process may fire: all of the processes are lost, or cut off from the database. */
const longestQuietMs = 120_000

/** Checks of schedules at the end: each minute of a schedule has one row, up to the end of the schedule, and each started row one run. */
export async function checkSchedules(query: Query): Promise<string[]> {
  const { anomalies, expectNone } = createExpectations(query)
  await expectNone('Schedules that have not ended', "select id, status, pause_reason from schedules where status <> 'ended'")
  await expectNone(
    'Fires without their run, and runs without their fire',
    `select schedule_id, scheduled_for, request_id from (select * from schedule_fires where outcome = 'started') as fires
      full join (select * from runs where operation = 'schedule') as scheduled on request_id = run_id
      where request_id is null or run_id is null`,
  )
  await expectNone(
    'Minutes of a schedule that have no row, or more than one',
    `select id, created_at, watermark, rows from schedules, lateral (select coalesce(sum(count), 0) as rows from schedule_fires
        where schedule_id = id and scheduled_for % 60000 = 0) as fires
      where rows <> watermark / 60000 - created_at / 60000`,
  )
  await expectNone(
    'Schedules that have not fired for long',
    `select id, created_at, watermark, updated_at from schedules where updated_at - watermark > ${60_000 + longestQuietMs}`,
  )
  const [sums] = await query(
    "select count(*)::int as fires, count(*) filter (where outcome = 'started')::int as started, sum(count)::int as times from schedule_fires",
  )
  console.log(`\nSchedules: ${String(sums!['times'])} times in ${String(sums!['fires'])} rows, ${String(sums!['started'])} runs`)
  return anomalies
}

/**
 * Checks messages to runs: an acknowledged message is in the session once, and a refused message is not. Steering messages to a run
 * stay in order.
 */
export async function checkMessages(query: Query, history: readonly Operation[]): Promise<string[]> {
  const rows = await query("select content from messages where role = 'human' and content like 'steerer%-m%' order by session, idx")
  const found = Map.groupBy(
    rows.map(({ content }) => String(content)),
    (id) => id,
  )
  const anomalies: string[] = []
  const sent = Map.groupBy(ofKind(history, 'steer'), ({ args }) => args.id)
  let delivered = 0
  for (const [id, operations] of sent) {
    const count = found.get(id)?.length ?? 0
    const isStored = operations.some(({ result }) => result === 'ok')
    const isRefused = operations.every(({ result }) => result === 'fail')
    if (isStored) delivered++
    if (count > 1 || (isStored && count === 0) || (isRefused && count > 0))
      anomalies.push(`Message ${id} is ${count} times in its session: ${operations.map(({ result, error }) => error ?? result).join(', ')}`)
  }
  const [open] = await query('select count(*)::int as n from run_messages where delivered_at is null')
  if (open?.['n'] !== 0) anomalies.push(`${String(open?.['n'])} messages wait for a run that has ended`)
  const places = new Map([...found.keys()].map((id, place) => [id, place]))
  for (const operations of Map.groupBy(ofKind(history, 'steer'), ({ args }) => args.requestId).values()) {
    const steers = operations.filter(({ args, result }) => args.mode === 'steer' && result === 'ok').map(({ args }) => args.id)
    const order = steers.map((id) => places.get(id) ?? -1)
    if (order.some((place, index) => index > 0 && place < order[index - 1]!)) anomalies.push(`Out of order: ${steers.join(', ')}`)
  }
  console.log(`\nMessages to runs: ${delivered} of ${sent.size} were accepted`)
  return anomalies
}

function createExpectations(query: Query) {
  const anomalies: string[] = []
  const expectNone = async (label: string, sql: string) => {
    const rows = await query(sql)
    if (rows.length > 0) anomalies.push(`${label}: ${JSON.stringify(rows.slice(0, 5))}`)
  }
  return { anomalies, expectNone }
}
