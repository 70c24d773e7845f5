import { query, type Database } from '../database.ts'
import type { SecretBox } from './secret-box.ts'

/** A text that SECRET_KEY has wrapped. */
interface EncryptedEntry {
  /** Under which it was. */
  name: string
  sealed: string
  replace(sealed: string): Promise<void>
}

/** How many texts of a database are wrapped, and how many of them by another than the first secret. Throws `WrongSecretKey` for one of none. */
export async function checkEncrypted(database: Database, box: SecretBox): Promise<{ total: number; older: number }> {
  const all = await findEncrypted(database)
  const older = all.filter(({ sealed }) => !box.isNewest(sealed))
  for (const { name, sealed } of older) box.open(name, sealed)
  return { total: all.length, older: older.length }
}

/** Wraps anew what another than the first secret wrapped, and answers with how many there were. Throws `WrongSecretKey`. */
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
  // Only in the place of what was seen: another may have changed it, and wrapped it anew with that.
  return [
    ...secrets.rows.map(({ name, sealed }) => ({
      ...{ name, sealed },
      async replace(renewed: string) {
        const update = db.updateTable('secrets').set({ sealed: renewed }).where('name', '=', name).where('sealed', '=', sealed)
        await all.unit((connection) => query(connection, update))
      },
    })),
    ...configurations.rows.map(({ n, content }) => ({
      ...{ name: configurationName(n), sealed: content },
      async replace(renewed: string) {
        const update = db.updateTable('configurations').set({ content: renewed }).where('n', '=', n).where('content', '=', content)
        await all.unit((connection) => query(connection, update))
      },
    })),
  ]
}

/** Under which a configuration is wrapped. */
export function configurationName(n: number): string {
  return `configuration ${n}`
}
