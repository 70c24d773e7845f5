import type { Compilable } from 'kysely'
import type { SharedSecret } from '../../access/keys/shared-secret.ts'
import type { ActingIn } from '../../audit/acts.ts'
import { query, type Connection, type Database } from '../database.ts'
import type { SecretBox } from './secret-box.ts'
import { experimentName } from '../../evals/experiments/spec.ts'
import { receiverSecretName } from '../runs/notifications.ts'
import { anyRevision, type Login, type LoginKey, type LoginStore } from '../../configuration/mcp/login-store.ts'

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

/** A text encrypted with SECRET_KEY. */
interface EncryptedEntry {
  /** Name under which the text was sealed. */
  name: string
  sealed: string
  replace(sealed: string): Promise<void>
}

/** Counts encrypted texts (`total`), and texts encrypted with another than the first secret (`older`). Throws `WrongSecretKey` when no secret opens a text. */
export async function checkEncrypted(database: Database, box: SecretBox): Promise<{ total: number; older: number }> {
  const all = await findEncrypted(database)
  const older = all.filter(({ sealed }) => !box.isNewest(sealed))
  for (const { name, sealed } of older) box.open(name, sealed)
  return { total: all.length, older: older.length }
}

/** Encrypts older texts again with the first secret, and returns their number. Throws `WrongSecretKey`. */
export async function reencryptAll(database: Database, box: SecretBox): Promise<number> {
  const { older } = await checkEncrypted(database, box)
  if (older === 0) return 0
  for (const { name, sealed, replace } of await findEncrypted(database)) {
    if (!box.isNewest(sealed)) await replace(box.seal(name, box.open(name, sealed)))
  }
  return older
}

async function findEncrypted({ db, all }: Database): Promise<EncryptedEntry[]> {
  const secrets = await query(all.read, db.selectFrom('secrets').select(['name', 'sealed']).orderBy('name'))
  const configurations = await query(all.read, db.selectFrom('configurations').select(['n', 'content']).orderBy('n'))
  const receivers = await query(all.read, db.selectFrom('task_notifications').selectAll())
  const experiments = await query(
    all.read,
    db.selectFrom('experiments').select(['tenant', 'id', 'configurations']).where('configurations', '<>', ''),
  )
  // Replaces unchanged texts only: another process may have stored a new text, encrypted with the first secret.
  return [
    ...secrets.rows.map(({ name, sealed }) => ({
      name,
      sealed,
      async replace(renewed: string) {
        const update = db.updateTable('secrets').set({ sealed: renewed }).where('name', '=', name).where('sealed', '=', sealed)
        await all.unit((connection) => query(connection, update))
      },
    })),
    ...receivers.rows.map(({ sealed, ...row }) => ({
      name: receiverSecretName,
      sealed,
      async replace(renewed: string) {
        const { tenant, owner, request_id, id } = row
        const update = db.updateTable('task_notifications').set({ sealed: renewed })
        const unchanged = update.where((is) => is.and({ tenant, owner, request_id, id, sealed }))
        await all.unit((connection) => query(connection, unchanged))
      },
    })),
    ...experiments.rows.map(({ tenant, id, configurations: sealed }) => ({
      name: experimentName(id),
      sealed,
      async replace(renewed: string) {
        const update = db.updateTable('experiments').set({ configurations: renewed })
        const unchanged = update.where((is) => is.and({ tenant, id, configurations: sealed }))
        await all.unit((connection) => query(connection, unchanged))
      },
    })),
    ...configurations.rows.map(({ n, content }) => ({
      name: configurationName(n),
      sealed: content,
      async replace(renewed: string) {
        const update = db.updateTable('configurations').set({ content: renewed }).where('n', '=', n).where('content', '=', content)
        await all.unit((connection) => query(connection, update))
      },
    })),
  ]
}

/** Name under which a configuration is sealed. */
export function configurationName(n: number): string {
  return `configuration ${n}`
}

interface LoginsOptions {
  /** Encrypts the logins. Called when the first login is read or stored. */
  box(): Promise<SecretBox>
  /** Epoch milliseconds. */
  now(): number
}

interface LoginAct {
  acting: ActingIn | undefined
  action: 'tool.signed_in' | 'tool.signed_out'
  key: LoginKey
}

/** `LoginStore` in the table `secrets`. The configuration serves all tenants, and so do its logins. */
export function createLoginStore({ db, all, ledger }: Database, { box, now }: LoginsOptions): LoginStore {
  const rows = db.selectFrom('secrets')

  async function findSealed(key: LoginKey): Promise<string | undefined> {
    return (await query(all.read, rows.select('sealed').where('name', '=', nameOf(key)))).rows[0]?.sealed
  }

  /** False where nothing was changed. */
  async function changeLogin(connection: Connection, change: Compilable, { acting, action, key }: LoginAct): Promise<boolean> {
    const { changes } = await query<unknown>(connection, change)
    const act = { action, target: `tool:${key.entry}`, data: { server: key.server } } as const
    if (changes > 0 && acting) await ledger.record(connection, acting.tenant, acting, act)
    return changes > 0
  }

  return {
    revision: findSealed,

    async find(key) {
      const sealed = await findSealed(key)
      if (sealed === undefined) return undefined
      return { login: JSON.parse((await box()).open(nameOf(key), sealed)) as Login, revision: sealed }
    },

    async save(key, login, after, acting) {
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
      const isSaved = await all.unit((connection) => changeLogin(connection, change, { acting, action: 'tool.signed_in', key }))
      return isSaved ? row.sealed : undefined
    },

    remove(key, acting) {
      const removal = db.deleteFrom('secrets').where('name', '=', nameOf(key))
      return all.unit((connection) => changeLogin(connection, removal, { acting, action: 'tool.signed_out', key }))
    },
  }
}

/** The name under which a login is sealed, shown by errors. */
function nameOf({ entry, server }: LoginKey): string {
  return `login of ${entry} (${server})`
}
