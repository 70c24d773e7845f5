import type pg from 'pg'
import { messageOf } from '../../errors.ts'

/** Connects, or throws an `Error` for operators: it names host, port, database and the reason, never user and password. */
export async function connectPostgres(client: pg.Client): Promise<void> {
  await client.connect().catch((cause: unknown) => {
    const { host, port, database } = client
    // A host that is a folder has the server's socket in it.
    const address = host.startsWith('/') ? `${host}, port ${port}` : `${host.includes(':') ? `[${host}]` : host}:${port}`
    throw new Error(`The database ${JSON.stringify(database ?? '')} at ${address} can't be reached: ${reasonOf(cause)}`, { cause })
  })
}

/** A name with several addresses fails once for each, with an error around them that says nothing. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ')
  return messageOf(error)
}
