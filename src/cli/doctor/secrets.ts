import type { Finding } from '../../models/check-models.ts'
import type { Settings } from '../../settings/settings.ts'
import { openDatabase } from '../../store/open.ts'
import { createSecretBox } from '../../store/secrets/secret-box.ts'
import { checkEncrypted } from '../../store/secrets/encrypted.ts'
import { messageOf } from '../../errors.ts'

/** Whether SECRET_KEY opens what the database has wrapped, and whether an older one is needed for it still. */
export async function checkSecrets(settings: Settings): Promise<Finding[]> {
  const { databaseUrl } = settings
  if (databaseUrl === undefined) return []
  const { isPrepared } = await import('../../store/postgres/inspect.ts')
  // Opening it would change it.
  if (!(await isPrepared(databaseUrl))) return []
  const database = await openDatabase(settings)
  try {
    const { total, older } = await checkEncrypted(database, createSecretBox(settings.secretKeys))
    if (total === 0) return [{ state: 'ok', text: 'secrets: made by the first start' }]
    if (older === 0) return [{ state: 'ok', text: `secrets: all ${total} are wrapped by ${firstOf(settings)}` }]
    const advice = 'Restart every replica with both, the new one first; the old one is needed until nothing is left here.'
    return [{ state: 'warn', text: `secrets: ${older} of ${total} are wrapped by the second of SECRET_KEY`, advice }]
  } catch (error) {
    const advice = 'Without it keys, callbacks and configurations of this database are lost: look for it in backups of your settings.'
    return [{ state: 'fail', text: `secrets: ${messageOf(error)}`, advice }]
  } finally {
    await database.close()
  }
}

function firstOf({ secretKeys }: Settings): string {
  return secretKeys.length > 1 ? 'the first of SECRET_KEY, the other one can go' : 'SECRET_KEY'
}
