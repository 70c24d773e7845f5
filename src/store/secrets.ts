import type { KeptText } from '../access/kept-text.ts'
import { run, type Database } from './database.ts'
import type { SecretBox } from './secret-box.ts'

/** Secrets that a database keeps for all processes, each under a name, wrapped by SECRET_KEY. */
export interface Secrets {
  of(name: string): KeptText
  /** Wraps anew what another than the first secret wrapped; answers with how many there were. Throws `WrongSecretKey`. */
  renew(): Promise<number>
}

/** What SECRET_KEY has wrapped, and how much of it another than its first secret. Throws `WrongSecretKey` where it opens none of it. */
export async function checkSecrets({ db, all }: Database, box: SecretBox): Promise<{ total: number; older: number }> {
  const secrets = db.selectFrom('secrets').select(['name', 'sealed'])
  const configurations = db.selectFrom('configurations').select('content as sealed')
  const named = (await run(all.read, secrets)).rows
  for (const { name, sealed } of named) box.open(name, sealed)
  const rows = [...named, ...(await run(all.read, configurations)).rows]
  return { total: rows.length, older: rows.filter(({ sealed }) => !box.isNewest(sealed)).length }
}

interface Options {
  /** Epoch milliseconds. */
  now(): number
}

export function createSecrets({ db, all }: Database, box: SecretBox, { now }: Options): Secrets {
  async function find(name: string): Promise<{ sealed: string; text: string } | undefined> {
    const { rows } = await run(all.read, db.selectFrom('secrets').select('sealed').where('name', '=', name))
    const [row] = rows
    return row && { sealed: row.sealed, text: box.open(name, row.sealed) }
  }

  /** False where something else is kept than what was seen. */
  async function put(name: string, text: string, seen: string | undefined): Promise<boolean> {
    const row = { sealed: box.seal(name, text), changed_at: now() }
    const insert = db.insertInto('secrets').values({ name, ...row })
    const first = insert.onConflict((conflict) => conflict.column('name').doNothing())
    const query = seen === undefined ? first : db.updateTable('secrets').set(row).where('name', '=', name).where('sealed', '=', seen)
    return (await all.unit((connection) => run<unknown>(connection, query))).changes > 0
  }

  return {
    of: (name) => ({
      place: `The ${name} in the database`,
      load: async () => (await find(name))?.text,
      async change(next) {
        for (;;) {
          const kept = await find(name)
          const text = await next(kept?.text)
          if (text === kept?.text || (await put(name, text, kept?.sealed))) return text
        }
      },
    }),

    async renew() {
      const { rows } = await run(all.read, db.selectFrom('secrets').select(['name', 'sealed']).orderBy('name'))
      let renewed = 0
      for (const { name, sealed } of rows) {
        const text = box.open(name, sealed)
        if (!box.isNewest(sealed) && (await put(name, text, sealed))) renewed++
      }
      return renewed
    },
  }
}
