import { anyRevision, type Login, type LoginKey, type LoginStore } from '../../configuration/login-store.ts'
import { query, type Database } from '../database.ts'
import type { SecretBox } from './secret-box.ts'

interface LoginsOptions {
  /** Encrypts the logins. Called when the first login is read or stored. */
  box(): Promise<SecretBox>
  /** Epoch milliseconds. */
  now(): number
}

/** `LoginStore` in the table `secrets`. The configuration serves all tenants, and so do its logins. */
export function createLoginStore({ db, all }: Database, { box, now }: LoginsOptions): LoginStore {
  const rows = db.selectFrom('secrets')

  async function findSealed(key: LoginKey): Promise<string | undefined> {
    return (await query(all.read, rows.select('sealed').where('name', '=', nameOf(key)))).rows[0]?.sealed
  }

  return {
    revision: findSealed,

    async find(key) {
      const sealed = await findSealed(key)
      if (sealed === undefined) return undefined
      return { login: JSON.parse((await box()).open(nameOf(key), sealed)) as Login, revision: sealed }
    },

    async save(key, login, after) {
      const name = nameOf(key)
      // Each sealed text has a nonce of its own, so that it serves as the revision.
      const row = { sealed: (await box()).seal(name, JSON.stringify(login)), changed_at: now() }
      const insert = db.insertInto('secrets').values({ name, ...row })
      const change =
        after === undefined
          ? insert.onConflict((conflict) => conflict.column('name').doNothing())
          : after === anyRevision
            ? insert.onConflict((conflict) => conflict.column('name').doUpdateSet(row))
            : db.updateTable('secrets').set(row).where('name', '=', name).where('sealed', '=', after)
      const { changes } = await all.unit((connection) => query<unknown>(connection, change))
      return changes > 0 ? row.sealed : undefined
    },

    async remove(key) {
      const removal = db.deleteFrom('secrets').where('name', '=', nameOf(key))
      return (await all.unit((connection) => query(connection, removal))).changes > 0
    },
  }
}

/** The name under which a login is sealed, shown by errors. */
function nameOf({ entry, server }: LoginKey): string {
  return `login of ${entry} (${server})`
}
