import type pg from 'pg'
import { messageOf } from '../../errors.ts'

/** Connects. Throws an `Error` for operators with host, port, database and reason, and never with user or password. */
export async function connectPostgres(client: pg.Client): Promise<void> {
  await client.connect().catch((cause: unknown) => {
    const { host, port, database } = client
    // A host that starts with `/` is the folder of the server's socket.
    const address = host.startsWith('/') ? `${host}, port ${port}` : `${host.includes(':') ? `[${host}]` : host}:${port}`
    throw new Error(`The database ${JSON.stringify(database ?? '')} at ${address} cannot be reached: ${reasonOf(cause)}`, { cause })
  })
}

/** A host name with several addresses fails once per address, in an `AggregateError` without a message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ')
  return messageOf(error)
}
