import type { Query } from './last-reads.ts'

/** Checks of the database at the end: no run is left, no session is held, metrics count each run once, and budgets agree with each other. Returns anomalies as texts. */
export async function checkStore(query: Query, replicas: number): Promise<string[]> {
  const anomalies: string[] = []
  const expectNone = async (label: string, sql: string) => {
    const rows = await query(sql)
    if (rows.length > 0) anomalies.push(`${label}: ${JSON.stringify(rows.slice(0, 5))}`)
  }
  await expectNone('Runs that have not ended', `select request_id, status, holder from runs where status in ('pending', 'running')`)
  await expectNone('Sessions held by a run', 'select session_id, active_run from sessions where active_run is not null')
  const [row] = await query('select count(*)::int as n from processes where alive_until > extract(epoch from now()) * 1000')
  if (row?.['n'] !== replicas) anomalies.push(`${String(row?.['n'])} of ${replicas} processes are alive`)
  await expectNone(
    'Runs counted twice in the metrics, or not at all',
    `select m.counted, r.ended from (select sum(success + error + cancelled + timeout)::int as counted from metrics) as m,
      (select count(*)::int as ended from runs where ended_at is not null and operation <> 'tool_execute') as r where m.counted < r.ended`,
  )
  await expectNone(
    'Budgets committed beyond their limit',
    'select budget, subject, spent, reserved, usd_limit from budget_windows where spent + reserved > usd_limit or tokens_spent + tokens_reserved > tokens_limit',
  )
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
  return anomalies
}
