import type { SharedSecret } from '../../access/keys/shared-secret.ts'
import { query, type Database } from '../database.ts'
import type { SecretBox } from './secret-box.ts'

/** Secrets that a database keeps for all processes, each under a name, wrapped by SECRET_KEY. */
export interface Secrets {
  secret(name: string): SharedSecret
}

interface Options {
  /** Epoch milliseconds. */
  now(): number
}

export function createSecrets({ db, all }: Database, box: SecretBox, { now }: Options): Secrets {
  async function find(name: string): Promise<{ sealed: string; text: string } | undefined> {
    const { rows } = await query(all.read, db.selectFrom('secrets').select('sealed').where('name', '=', name))
    const [row] = rows
    return row && { sealed: row.sealed, text: box.open(name, row.sealed) }
  }

  /** False where something else is kept than what was seen. */
  async function put(name: string, text: string, expectedSealed: string | undefined): Promise<boolean> {
    const row = { sealed: box.seal(name, text), changed_at: now() }
    const insert = db.insertInto('secrets').values({ name, ...row })
    const first = insert.onConflict((conflict) => conflict.column('name').doNothing())
    const change =
      expectedSealed === undefined
        ? first
        : db.updateTable('secrets').set(row).where('name', '=', name).where('sealed', '=', expectedSealed)
    return (await all.unit((connection) => query<unknown>(connection, change))).changes > 0
  }

  return {
    secret: (name) => ({
      label: `The ${name} in the database`,
      load: async () => (await find(name))?.text,
      async change(next) {
        for (;;) {
          const current = await find(name)
          const text = await next(current?.text)
          if (text === current?.text || (await put(name, text, current?.sealed))) return text
        }
      },
    }),
  }
}
