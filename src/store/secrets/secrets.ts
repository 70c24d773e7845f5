import type { SharedSecret } from '../../access/keys/shared-secret.ts'
import { query, type Database } from '../database.ts'
import type { SecretBox } from './secret-box.ts'

/** Named secrets in the database, encrypted with SECRET_KEY and shared by all processes. */
export interface Secrets {
  secret(name: string): SharedSecret
}

interface SecretsOptions {
  /** Epoch milliseconds. */
  now(): number
}

export function createSecrets({ db, all }: Database, box: SecretBox, { now }: SecretsOptions): Secrets {
  async function find(name: string): Promise<{ sealed: string; text: string } | undefined> {
    const { rows } = await query(all.read, db.selectFrom('secrets').select('sealed').where('name', '=', name))
    const [row] = rows
    return row && { sealed: row.sealed, text: box.open(name, row.sealed) }
  }

  /** Stores a secret when the stored one is still `expectedSealed`; else returns false. */
  async function replace(name: string, text: string, expectedSealed: string | undefined): Promise<boolean> {
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
          if (text === current?.text || (await replace(name, text, current?.sealed))) return text
        }
      },
    }),
  }
}
