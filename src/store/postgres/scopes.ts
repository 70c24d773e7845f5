import type pg from 'pg'
import { CommitUnknown, type Scope } from '../database.ts'
import { faultOf, isStale, RetryableFault, withRetries, storeUnavailable } from './faults.ts'
import type { Connection } from '../statement.ts'

/** Each text has a short name under which a connection keeps it prepared; for so many. */
const maxNames = 500
/** As long as a restart of the server takes, and no longer than a caller waits. */
const retryForMs = 10_000
/** A connection that the server does not know to be lost keeps its transaction for `idle_in_transaction_session_timeout`. */
const outcomeMs = 15_000

/** No tenant has such a name: names have no control characters. Row-level security lets it see all. */
export const everyTenant = '\u0001'

export interface Scopes {
  forTenant(tenant: string): Scope
  /** Without patience: an answer of this moment. */
  ping(): Promise<void>
  /** Runs statements that take no values, one after another, on a connection that sees all tenants; answers with what they came to. */
  script(text: string): Promise<unknown>
  /** A connection that sees all tenants. Whoever asked for it releases it. */
  connectAll(): Promise<pg.PoolClient>
}

/** What tenants ask of a pool. A connection that breaks is replaced, and what it cut off is asked again where that is safe. */
export function createScopes(pool: pg.Pool): Scopes {
  const names = new Map<string, string>()
  /** Grows when tables have changed: all is prepared anew then. */
  let edition = 0
  /** As whose it was used last. */
  const tenants = new WeakMap<pg.PoolClient, string>()

  async function connect(): Promise<pg.PoolClient> {
    return pool.connect().catch((cause: unknown) => {
      // A wrong password stays wrong.
      throw pool.ending || faultOf(cause) !== 'lost' ? storeUnavailable(cause) : new RetryableFault(cause)
    })
  }

  async function withClient<T>(tenant: string, work: (client: pg.PoolClient, isSet: Promise<void>) => Promise<T>): Promise<T> {
    const client = await connect()
    let isBroken = false
    const isSet = tenants.get(client) === tenant ? done : setTenant(client, tenant)
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

  async function setTenant(client: pg.PoolClient, tenant: string): Promise<void> {
    tenants.set(client, tenant)
    await client.query({ name: 'tenant', text: "select set_config('agent_core.tenant', $1, false)", values: [tenant] })
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

  /** It is its own commit: what became of it when its connection is lost, whoever asked for it can find out. */
  const executeOnce = (tenant: string, ...[sql, values]: Parameters<Connection['execute']>) =>
    withClient(tenant, async (client, isSet) => {
      const result = await on(client)
        .execute<never>(sql, values)
        .catch((cause: unknown) => {
          throw faultOf(cause) === 'lost' ? new CommitUnknown(cause) : cause
        })
      await isSet
      return result
    })

  /** Once: rejects with `MayComeAgain` where nothing was stored. */
  async function attempt<T>(tenant: string, work: (connection: Connection) => Promise<T>): Promise<T> {
    try {
      return await withClient(tenant, (client, isSet) => transact(client, isSet, () => work(on(client))))
    } catch (error) {
      if (!(error instanceof CommitCut)) throw error
      if (!(await isCommitted(error))) throw new RetryableFault(error.cause)
      return error.value as T
    }
  }

  /** What the server says of a transaction whose connection was lost with the answer to its commit. */
  async function isCommitted({ transaction, cause }: CommitCut): Promise<boolean> {
    const ask = 'select pg_xact_status($1::text::xid8) as status'
    const look = async () => {
      const { rows } = await execute(everyTenant, ask, [transaction])
      const { status } = (rows as { status: string | null }[])[0]!
      if (status === 'in progress') throw new RetryableFault(cause)
      return status
    }
    const status = await withRetries(outcomeMs, look).catch(() => null)
    if (status === null) throw new CommitUnknown(cause)
    return status === 'committed'
  }

  return {
    forTenant: (tenant) => ({
      read: { execute: (sql, values) => withRetries(retryForMs, () => execute(tenant, sql, values)) },
      write: { execute: (sql, values) => withRetries(retryForMs, () => executeOnce(tenant, sql, values)) },
      unit: (work, options) => withRetries(options?.retryForMs ?? retryForMs, () => attempt(tenant, work)),
    }),
    async connectAll() {
      const client = await connect()
      await setTenant(client, everyTenant)
      return client
    },
    script: (text) => withRetries(retryForMs, () => withClient(everyTenant, (client) => runScript(client, text))),
    ping: async () => void (await withRetries(0, () => execute(everyTenant, 'select 1', []))),
  }
}

const done = Promise.resolve()

/** A script may have begun a transaction: no error leaves it open. */
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
  // On its way with the first query of the unit. The number says later what became of it, should the answer to the commit be lost.
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
  if (command !== 'COMMIT') throw new Error('A unit went on after one of its queries had failed: nothing of it was stored.')
  return value
}

/** The connection is worth nothing any more. */
class NotRolledBack extends Error {
  constructor(cause: unknown) {
    super('A unit could not be rolled back.', { cause })
    this.name = 'NotRolledBack'
  }
}

/** The connection was lost when the commit was under way. */
class CommitCut extends Error {
  readonly transaction: string
  /** What the unit came to, should it have been stored. */
  readonly value: unknown

  constructor(transaction: string, value: unknown, cause: unknown) {
    super('A connection was lost with a commit.', { cause })
    this.name = 'CommitCut'
    this.transaction = transaction
    this.value = value
  }
}
