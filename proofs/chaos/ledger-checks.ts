import { setTimeout as sleep } from 'node:timers/promises'
import type { Query } from './last-reads.ts'
import type { Replica } from './replica.ts'

/** Time for the sweep that seals events of processes that were killed. */
const sealMs = 150_000

/**
 * Checks the ledger against the effects that the outside has counted: each effect has one start in the ledger, each start one end or `unknown`,
 * and no call has an end without a start. `effects`: how often each call has arrived, by its id. Then the chain is verified by the command line.
 */
export async function checkLedger(
  query: Query,
  effects: ReadonlyMap<string, number>,
  replica: Pick<Replica, 'command'>,
): Promise<string[]> {
  const rows = await query(
    `select data::json ->> 'call_id' as call, count(*) filter (where action = 'tool.started')::int as starts,
      count(*) filter (where action = 'tool.ended')::int as ends, count(*) filter (where action = 'tool.unknown')::int as unknown
      from audit_events where action like 'tool.%' and data::json ->> 'call_id' is not null group by 1`,
  )
  const calls = new Map(
    rows.map((row) => [String(row['call']), { starts: Number(row['starts']), ends: Number(row['ends']), unknown: Number(row['unknown']) }]),
  )
  const anomalies: string[] = []
  for (const [call, count] of effects) {
    if (count !== 1) anomalies.push(`Call ${call} has arrived ${count} times`)
    if (!calls.has(call)) anomalies.push(`Call ${call} has arrived and is not in the ledger`)
  }
  for (const [call, { starts, ends, unknown }] of calls)
    if (starts !== 1 || ends + unknown !== 1)
      anomalies.push(`The ledger has ${starts} starts, ${ends} ends and ${unknown} unknown of call ${call}`)
  for (const until = Date.now() + sealMs; (await countUnsealed(query)) > 0 && Date.now() < until;) await sleep(500)
  const { code, output } = await replica.command(['audit', 'verify'])
  if (code !== 0 || (await countUnsealed(query)) > 0) anomalies.push(`audit verify has exited with ${code}: ${output}`)
  const all = [...calls.values()]
  const unknown = all.reduce((sum, call) => sum + call.unknown, 0)
  console.log(
    `\nLedger: ${effects.size} effects, ${all.length} calls started, ${all.length - unknown} ended, ${unknown} unknown. ${output.trim()}`,
  )
  return anomalies
}

async function countUnsealed(query: Query): Promise<number> {
  const [row] = await query('select count(*)::int as n from audit_events where seq is null')
  return Number(row?.['n'])
}
