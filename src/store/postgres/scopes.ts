import type pg from 'pg'
import { waitForStore } from '../../concurrency/phase-times.ts'
import { CommitUnknown, type Scope, type Connection } from '../database.ts'
import { faultOf, isStale, RetryableFault, withRetries, storeUnavailable } from './faults.ts'
import { reachState } from '../../states.ts'

/** Limit of prepared statements per connection. Each SQL text has a short name. */
const maxNames = 500
/** Default time of retries in milliseconds: as long as a restart of the server, and no longer than a caller waits. */
const retryForMs = 10_000
/** Time to find the outcome of a commit: the server keeps the transaction of a lost connection for `idle_in_transaction_session_timeout`. */
const outcomeMs = 15_000
/** Time of retries in a stopping process: the remaining work is left to other processes. */
const stoppingRetryForMs = 1000

/** Stands for all tenants in row-level security. No tenant has this name, because names contain no control characters. */
export const everyTenant = '\u0001'

export interface Scopes {
  forTenant(tenant: string): Scope
  /** Queries the server once, without retries. */
  ping(): Promise<void>
  /** Writes rows of all tenants; see `PostgresServer`. */
  readonly writeOnce: Connection
  /** See `PostgresServer`. */
  writeGroup(tenant: string): Connection
  /** Runs several statements without parameters on a connection for all tenants, and returns the result of the driver. */
  script(text: string): Promise<unknown>
  /** See `PostgresServer`. */
  shortenRetries(): void
  /** Returns a connection for all tenants. The caller releases the connection. */
  connectAll(): Promise<pg.PoolClient>
}

/** Scopes of tenants on one pool. Broken connections are replaced, and their queries are retried where a retry is safe. */
export function createScopes(pool: pg.Pool): Scopes {
  const names = new Map<string, string>()
  /** Incremented when tables have changed, so that all statements are prepared anew. */
  let edition = 0
  let isStopping = false
  /** Settings of each connection. */
  const settings = new WeakMap<pg.PoolClient, Settings>()

  const upTo = (ms: number) => () => (isStopping ? Math.min(ms, stoppingRetryForMs) : ms)

  async function connect(): Promise<pg.PoolClient> {
    return pool.connect().catch((cause: unknown) => {
      // Only lost connections are retried: a wrong password stays wrong.
      throw pool.ending || faultOf(cause) !== 'lost' ? storeUnavailable(cause) : new RetryableFault(cause)
    })
  }

  async function withClient<T>(
    tenant: string,
    work: (client: pg.PoolClient, isSet: Promise<void>) => Promise<T>,
    joins: Settings['joins'] = 'any',
  ): Promise<T> {
    const client = await connect()
    let isBroken = false
    const current = settings.get(client)
    const isSet = current?.tenant === tenant && current.joins === joins ? done : set(client, { tenant, joins })
    isSet.catch(() => (isBroken = true))
    try {
      return await work(client, isSet)
    } catch (error) {
      const isCut = error instanceof CommitCut || error instanceof CommitUnknown
      const cause = isCut || error instanceof NotRolledBack ? error.cause : error
      const fault = faultOf(cause)
      isBroken ||= fault === 'lost' || cause !== error
      if (isCut) throw error
      if (isStale(cause)) prepareAnew()
      if (fault === 'lost' || fault === 'undone') throw new RetryableFault(cause)
      throw fault === 'refused' ? storeUnavailable(cause) : cause
    } finally {
      client.release(isBroken)
    }
  }

  function prepareAnew(): void {
    names.clear()
    edition++
  }

  /** Sends the settings that differ; the next query of the connection need not wait for the answer. */
  async function set(client: pg.PoolClient, { tenant, joins }: Settings): Promise<void> {
    const before = settings.get(client)
    settings.set(client, { tenant, joins })
    const isChanged = joins !== (before?.joins ?? 'any')
    await Promise.all([
      before?.tenant === tenant ? undefined : client.query({ name: 'tenant', text: setTenant, values: [tenant] }),
      isChanged
        ? client.query({ name: 'joins', text: setJoins, values: joins === 'any' ? ['on', 'auto'] : ['off', 'force_custom_plan'] })
        : undefined,
    ])
  }

  function on(client: pg.PoolClient): Connection {
    return {
      async execute(sql, values) {
        let name = names.get(sql)
        if (name === undefined && names.size < maxNames) names.set(sql, (name = `s${names.size}_${edition}`))
        const result = await client.query({ text: sql, values: values as unknown[], ...(name ? { name } : {}) })
        return { rows: result.rows, changes: result.rowCount ?? 0 }
      },
    }
  }

  const execute = (tenant: string, ...[sql, values]: Parameters<Connection['execute']>) =>
    withClient(tenant, async (client, isSet) => {
      const result = await on(client).execute<never>(sql, values)
      await isSet
      return result
    })

  /** Executes a statement that commits itself. When the connection is lost, the caller reads back the outcome. */
  const executeOnce = (tenant: string, sql: string, values: readonly unknown[], joins?: Settings['joins']) =>
    withClient(
      tenant,
      async (client, isSet) => {
        const result = await on(client)
          .execute<never>(sql, values)
          .catch((cause: unknown) => {
            throw faultOf(cause) === 'lost' ? new CommitUnknown(cause) : cause
          })
        await isSet
        return result
      },
      joins,
    )

  /** Runs a unit of work once. Rejects with `RetryableFault` when nothing was stored. */
  async function attempt<T>(tenant: string, work: (connection: Connection) => Promise<T>): Promise<T> {
    try {
      return await withClient(tenant, (client, isSet) => transact(client, isSet, () => work(on(client))))
    } catch (error) {
      if (!(error instanceof CommitCut)) throw error
      const isFound = await isCommitted(error)
      reachState(isFound ? 'commit-found' : 'commit-not-found')
      if (!isFound) throw new RetryableFault(error.cause)
      return error.value as T
    }
  }

  /** Asks the server for the outcome of a transaction whose connection was lost during the commit. */
  async function isCommitted({ transaction, cause }: CommitCut): Promise<boolean> {
    const ask = 'select pg_xact_status($1::text::xid8) as status'
    const look = async () => {
      const { rows } = await execute(everyTenant, ask, [transaction])
      const { status } = (rows as { status: string | null }[])[0]!
      if (status === 'in progress') throw new RetryableFault(cause)
      return status
    }
    const status = await withRetries(upTo(outcomeMs), look).catch(() => null)
    if (status === null) {
      reachState('commit-unknown')
      throw new CommitUnknown(cause)
    }
    return status === 'committed'
  }

  return {
    forTenant: (tenant) => ({
      read: { execute: (sql, values) => waitForStore(() => withRetries(upTo(retryForMs), () => execute(tenant, sql, values))) },
      write: { execute: (sql, values) => waitForStore(() => withRetries(upTo(retryForMs), () => executeOnce(tenant, sql, values))) },
      unit: (work, options) => waitForStore(() => withRetries(upTo(options?.retryForMs ?? retryForMs), () => attempt(tenant, work))),
    }),
    writeOnce: { execute: (sql, values) => withRetries(0, () => executeOnce(everyTenant, sql, values)) },
    writeGroup: (tenant) => ({ execute: (sql, values) => withRetries(0, () => executeOnce(tenant, sql, values, 'by index')) }),
    async connectAll() {
      const client = await connect()
      await set(client, { tenant: everyTenant, joins: 'any' })
      return client
    },
    script: (text) => withRetries(upTo(retryForMs), () => withClient(everyTenant, (client) => runScript(client, text))),
    shortenRetries: () => void (isStopping = true),
    ping: async () => void (await withRetries(0, () => execute(everyTenant, 'select 1', []))),
  }
}

const done = Promise.resolve()

interface Settings {
  tenant: string
  /**
   * `by index`: each row of a group is looked up by an index. The server plans such a statement at each execution: a kept plan would be one for
   * empty tables, which reads whole indexes.
   */
  joins: 'any' | 'by index'
}

const setTenant = "select set_config('agent_core.tenant', $1, false)"
const setJoins = `select ${['hashjoin', 'mergejoin', 'seqscan'].map((name) => `set_config('enable_${name}', $1, false)`).join(', ')},
  set_config('plan_cache_mode', $2, false)`

/** Runs a script, and rolls back after an error, because the script may have begun a transaction. */
async function runScript(client: pg.PoolClient, text: string): Promise<unknown> {
  try {
    return await client.query(text)
  } catch (cause) {
    await client.query('rollback').catch(() => {
      throw new NotRolledBack(cause)
    })
    throw cause
  }
}

async function transact<T>(client: pg.PoolClient, isSet: Promise<void>, work: () => Promise<T>): Promise<T> {
  // Sent together with the first query of the unit. The transaction id serves to find the outcome when the answer to the commit is lost.
  const beginning = client.query('begin; select pg_current_xact_id()::text as xid') as unknown as Promise<pg.QueryResult<{ xid: string }>[]>
  beginning.catch(() => undefined)
  let value: T
  let transaction: string
  try {
    value = await work()
    await isSet
    transaction = (await beginning)[1]!.rows[0]!.xid
  } catch (cause) {
    await client.query('rollback').catch(() => {
      throw new NotRolledBack(cause)
    })
    throw cause
  }
  const { command } = await client.query('commit').catch((cause: unknown) => {
    throw faultOf(cause) === 'lost' ? new CommitCut(transaction, value, cause) : cause
  })
  if (command !== 'COMMIT') throw new Error('A unit of work continued after a failed query: nothing was stored.')
  return value
}

/** The rollback failed, so the connection cannot be reused. */
class NotRolledBack extends Error {
  constructor(cause: unknown) {
    super('A unit of work could not be rolled back.', { cause })
    this.name = 'NotRolledBack'
  }
}

/** The connection was lost during the commit. */
class CommitCut extends Error {
  readonly transaction: string
  /** The result of the unit, for the case that the commit succeeded. */
  readonly value: unknown

  constructor(transaction: string, value: unknown, cause: unknown) {
    super('The connection was lost during a commit.', { cause })
    this.name = 'CommitCut'
    this.transaction = transaction
    this.value = value
  }
}
