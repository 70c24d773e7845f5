import type { Query } from './last-reads.ts'

/** Checks of the database at the end: no run is left, no session is held, and metrics count each run once. Returns anomalies as texts. */
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
  return anomalies
}
