/** Numbers of generated rows. The rows belong to four tenants with a thousand callers each; tenant `default` has 70 % of the rows. */
export interface RowCounts {
  sessions: number
  runs: number
}

/** Rows of a table: `values` are SQL expressions of the row number `n`, from 0 to `count` - 1, one for each of `columns`. */
export interface GeneratedTable {
  table: string
  columns: string
  values: string
  count: number
}

const owners = 1000
export const spanMs = 365 * 86_400_000

/** Versions of the configuration, one after another, each for a hundredth of the year. `rareVersion` has every 100,000th run. */
const versions = 100
export const rareVersion = 'version-rare'

/** SQL expression for the tenant of session or run number `n`. */
function tenantOf(n: string): string {
  return `case when ${n} % 10 < 7 then 'default' else 'tenant-' || (${n} % 10) end`
}

/** SQL expression for the `sub` of session or run number `n`. */
function subOf(n: string): string {
  return `'caller-' || ((${n} / 10) % ${owners})`
}

/** SQL expression for the owner of session or run number `n`. */
function ownerOf(n: string): string {
  return `'agent-core ' || ${subOf(n)}`
}

/** Returns the session id at `share` (0 to 1, oldest first) of the sessions of caller number `caller` in tenant `default`. */
export function sessionOf(caller: number, { sessions }: RowCounts, share: number): string {
  const rounds = Math.floor(sessions / 10 / owners)
  const round = Math.min(rounds - 1, Math.max(0, Math.floor(rounds * share)))
  return `session-${(round * owners + caller) * 10}`
}

/** SQL expression for the time of row `n`: spread evenly over a year, newest last. */
function timeOf(n: string, count: number, now: number): string {
  return `${now - spanMs} + cast(${n} as bigint) * ${Math.floor(spanMs)} / ${count}`
}

/** Id of generated row number `n` in the form of a UUID, in the order of the rows. */
export function idOf(n: number): string {
  return `${idStart}${idNumbers + n}`
}

const idStart = '00000000-0000-7000-8000-'
const idNumbers = 100_000_000_000

/** SQL expression for `idOf`. */
function idExpression(n: string): string {
  return `'${idStart}' || (${idNumbers} + ${n})`
}

/** All generated tables. Runs have no logs, sessions have no messages, files have no bytes. */
export function generatedTables(counts: RowCounts, now: number): GeneratedTable[] {
  return [
    sessionRows(counts, now),
    ...runRows(counts, now),
    ...waitingRows(counts, now),
    ...fileRows(counts, now),
    ...callerRows(counts, now),
  ]
}

/** Number of rows in each table beside sessions, runs and tools of runs. */
export function otherRows({ runs }: RowCounts): number {
  return Math.min(runs, 1_000_000)
}

function sessionRows({ sessions }: RowCounts, now: number): GeneratedTable {
  const at = timeOf('n', sessions, now)
  return {
    table: 'sessions',
    columns: 'tenant, owner, session_id, key, short_name, checkpoint_id, active_run, message_count, window_start, created_at, updated_at',
    values: `${tenantOf('n')}, ${ownerOf('n')}, 'session-' || n, 'key-' || n, 'First question of session ' || n, 'checkpoint-' || n, null, 2, 0, ${at}, ${at}`,
    count: sessions,
  }
}

/** SQL expressions of the filtered columns of run number `n`. One run of 5,000 is asynchronous. */
const operation = `case when n % 5000 = 40 then 'chain_async' when n % 3 = 0 then 'chain_streaming' else 'chain' end`

function versionOf(n: string, { runs }: RowCounts): string {
  return `case when ${n} % 100000 = 50 then '${rareVersion}' else 'version-' || (cast(${n} as bigint) * ${versions} / ${runs}) end`
}

function runRows(counts: RowCounts, now: number): GeneratedTable[] {
  const { sessions, runs } = counts
  const at = timeOf('n', runs, now)
  const status = `case when n % 50 = 0 then 'error' when n % 50 = 1 then 'cancelled' else 'success' end`
  // Every second run has called a tool; one run of 10,000 another one.
  const run = '(2 * n)'
  const tool = `case when n % 5000 = 30 then 'chart' else 'data_query' end`
  return [
    {
      table: 'runs',
      columns: `tenant, owner, request_id, session, session_id, operation, body_hash, status, on_disconnect, holder, fence, place, message_index,
        agent, model, created_at, started_at, ended_at, finish_reason, continuable, prompt_tokens, completion_tokens, total_tokens, latency_ms,
        ran_ms, sub, input, config_version, cost`,
      values: `${tenantOf('n')}, ${ownerOf('n')}, 'request-' || n, 'key-' || (n % ${sessions}), 'session-' || (n % ${sessions}), ${operation}, '',
        ${status}, 'cancel', '', 1, n, 0, 'agent', 'bench', ${at} - 1200, ${at} - 1200, ${at}, 'stop', 0, 400, 120, 520, 1000 + n % 400, 0,
        ${subOf('n')}, 'Question ' || n, ${versionOf('n', counts)}, 0.001`,
      count: runs,
    },
    {
      table: 'run_tools',
      columns: 'tenant, owner, request_id, tool, sub, config_version, created_at, ended_at, calls, errors, durations',
      values: `${tenantOf(run)}, ${ownerOf(run)}, 'request-' || ${run}, ${tool}, ${subOf(run)}, ${versionOf(run, counts)},
        ${timeOf(run, runs, now)} - 1200, ${timeOf(run, runs, now)}, 1, 0, '[20]'`,
      count: Math.floor(runs / 2),
    },
  ]
}

/** Callbacks and calls that wait for approval: one of a hundred calls is undecided. The calls belong to no stored run. */
function waitingRows(counts: RowCounts, now: number): GeneratedTable[] {
  const count = otherRows(counts)
  const at = timeOf('n', count, now)
  return [
    {
      table: 'callbacks',
      columns: 'tenant, owner, request_id, event_id, url, status, attempts, round, tries, created_at',
      values: `${tenantOf('n')}, ${ownerOf('n')}, 'request-' || n, 'event-' || n, 'https://example.com/',
        case when n % 5000 = 20 then 'failed' else 'delivered' end, '[]', 0, 1, ${at}`,
      count,
    },
    {
      table: 'approvals',
      columns: 'tenant, owner, request_id, call_id, place, session_id, tool, input, by, requested_at, expires_at, decision',
      values: `${tenantOf('n')}, ${ownerOf('n')}, 'waiting-' || n, 'call-' || n, 0, 'session-' || n, 'write_file', '{}',
        case when n % 20 < 10 then 'caller' else 'role' end, ${at}, ${now + spanMs}, case when n % 100 < 99 then 'approved' end`,
      count,
    },
  ]
}

function fileRows(counts: RowCounts, now: number): GeneratedTable[] {
  const count = otherRows(counts)
  const documents = Math.floor(count / 100)
  const at = timeOf('n', count, now)
  const file = `${tenantOf('n')}, ${ownerOf('n')}, ${idExpression('n')}`
  return [
    {
      table: 'artifacts',
      columns: 'tenant, owner, id, session, session_id, request_id, name, type, size, sha256, tool, created_at',
      values: `${file}, 'key-' || n, 'session-' || n, 'request-' || n, 'chart.svg', 'image/svg+xml', 100, '', 'chart', ${at}`,
      count,
    },
    {
      table: 'uploads',
      columns: 'tenant, owner, id, purpose, name, type, size, sha256, is_stored, created_at',
      values: `${file}, case when n < ${documents} then 'knowledge' when n % 5000 = 10 then 'vision' else 'user_data' end, 'notes.md', 'text/markdown', 1,
        '', 1, ${at}`,
      count,
    },
    {
      table: 'knowledge_documents',
      columns: 'tenant, id, name, version, state, metadata, revision',
      values: `${tenantOf('n')}, ${idExpression('n')}, 'notes.md', '', 'failed', '{}', n`,
      count: documents,
    },
  ]
}

function callerRows(counts: RowCounts, now: number): GeneratedTable[] {
  const count = otherRows(counts)
  const keys = Math.floor(count / 100)
  const at = timeOf('n', count, now)
  return [
    {
      table: 'memories',
      columns: 'tenant, owner, id, kind, origin, content, created_at, updated_at',
      values: `${tenantOf('n')}, ${ownerOf('n')}, ${idExpression('n')}, 'fact', 'user', 'Fact number ' || n, ${at}, ${at}`,
      count,
    },
    {
      table: 'access_keys',
      columns: 'jti, tenant, sub, roles, created_at, expires_at',
      values: `'key-' || n, ${tenantOf('n')}, ${subOf('n')}, '["user"]', ${timeOf('n', keys, now)}, ${now + spanMs}`,
      count: keys,
    },
  ]
}
