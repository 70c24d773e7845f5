import pg from 'pg'

/** What a process of an unreleased build does with a run, in the statements and columns of that build. */
export interface UnreleasedProcess {
  /** Claims a new session, and stores the question and the run that answers it. */
  begin(requestId: string): Promise<void>
  /** Stores the answer and the end of a run. Throws when the run is no longer that of this process. */
  finish(requestId: string): Promise<void>
  /** Begins and ends one run after another. The returned function stops that, and resolves with the request ids. */
  work(): () => Promise<string[]>
  close(): Promise<void>
}

/** The caller whose runs the process executes. */
export const caller = { tenant: 'default', owner: 'agent-core ann', sub: 'ann' }

/** Longer than any test, so that no other process adopts the runs. */
const leaseMs = 600_000

/** Connects a process with this id to a database of an unreleased build. A lost process has a lease that has run out. */
export async function startUnreleasedProcess(url: string, id: string, { isLost = false } = {}): Promise<UnreleasedProcess> {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  const { tenant, owner } = caller
  const now = Date.now()
  const hour = now - (now % 3_600_000)
  const request = (requestId: string) => JSON.stringify({ messages: [{ role: 'user', content: requestId }], filters: [], headers: {} })
  await pool.query(`insert into processes (id, alive_until) values ($1, (extract(epoch from statement_timestamp()) * 1000)::bigint + $2)`, [
    id,
    isLost ? -leaseMs / 2 : leaseMs,
  ])

  /** Repeats a transaction that Postgres has ended because of a deadlock with the migration, as every version does. */
  async function transact(statements: [sql: string, values: unknown[]][]): Promise<void> {
    while (!(await attempt(statements)));
  }

  async function attempt(statements: [sql: string, values: unknown[]][]): Promise<boolean> {
    const client = await pool.connect()
    try {
      await client.query('begin')
      for (const [sql, values] of statements) {
        const { rowCount } = await client.query(sql, values)
        if (rowCount !== 1) throw new Error(`A process of an unreleased build changed ${rowCount} rows: ${sql}`)
      }
      await client.query('commit')
      return true
    } catch (error) {
      await client.query('rollback')
      if ((error as { code?: string }).code !== '40P01') throw error
      return false
    } finally {
      client.release()
    }
  }

  const begin = (requestId: string) =>
    transact([
      [
        `insert into sessions (tenant, owner, session_id, key, short_name, checkpoint_id, active_run, message_count, window_start, created_at, updated_at)
         values ($1, $2, $3, $4, $5, 'c', $5, 1, 0, $6, $6)`,
        [tenant, owner, `of-${requestId}`, `key of ${requestId}`, requestId, now],
      ],
      [
        `insert into messages (tenant, session, idx, role, content, created_at, data) values ($1, $2, 0, 'human', $3, $4, null)`,
        [tenant, `key of ${requestId}`, requestId, now],
      ],
      [
        `insert into runs (tenant, owner, request_id, session, session_id, operation, body_hash, request, status, on_disconnect, holder, fence, place,
           message_index, agent, model, continuable, prompt_tokens, completion_tokens, total_tokens, latency_ms, created_at, started_at)
         values ($1, $2, $3, $4, $5, 'chain', 'hash', $6, 'running', 'continue', $7, 1, 1, 0, 'agent', 'm', 0, 0, 0, 0, 0, $8, $8)`,
        [tenant, owner, requestId, `key of ${requestId}`, `of-${requestId}`, request(requestId), id, now],
      ],
    ])

  const finish = (requestId: string) =>
    transact([
      [
        `update runs set status = 'success', finish_reason = 'stop', continuable = 0, prompt_tokens = 1, completion_tokens = 1,
           total_tokens = 2, latency_ms = 1, ended_at = $4, log = $5, request = null
         where tenant = $1 and owner = $2 and request_id = $3 and fence = 1 and status = 'running'`,
        [tenant, owner, requestId, now, `{"input":"${requestId}","events":[]}`],
      ],
      [
        `insert into messages (tenant, session, idx, role, content, created_at, data) values ($1, $2, 1, 'ai', $3, $4, $5)`,
        [tenant, `key of ${requestId}`, `old answer to ${requestId}`, now, JSON.stringify({ requestId })],
      ],
      [
        `update sessions set active_run = null, message_count = 2, updated_at = $3 where tenant = $1 and key = $2`,
        [tenant, `key of ${requestId}`, now],
      ],
      [
        `insert into metrics (tenant, hour, success, prompt_tokens, completion_tokens, total_tokens, latency_ms, min_latency_ms, max_latency_ms)
         values ($1, $2, 1, 1, 1, 2, 1, 1, 1) on conflict (tenant, hour) do update set success = metrics.success + 1`,
        [tenant, hour],
      ],
    ])

  function work(): () => Promise<string[]> {
    let isStopped = false
    const ended: string[] = []
    const working = (async () => {
      while (!isStopped) {
        const requestId = `${id}-${ended.length}`
        await begin(requestId)
        await finish(requestId)
        ended.push(requestId)
      }
      return ended
    })()
    // A failure is reported by the function that stops the work.
    working.catch(() => undefined)
    return () => {
      isStopped = true
      return working
    }
  }

  return { begin, finish, work, close: () => pool.end() }
}
