import { query, type Database } from '../database.ts'
import { receiverSecretName } from '../runs/notifications.ts'
import type { SecretBox } from './secret-box.ts'

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
