import type { Finding } from '../../models/check-models.ts'
import type { Settings } from '../../settings/settings.ts'
import type { Database } from '../../store/database.ts'
import { openDatabase } from '../../store/open.ts'
import { createSecretBox } from '../../store/secrets/secret-box.ts'
import { checkEncrypted } from '../../store/secrets/secrets.ts'
import { messageOf } from '../../errors.ts'

/** Checks that SECRET_KEY decrypts the secrets of the database, and whether the previous key is still needed. */
export async function checkSecrets(settings: Settings): Promise<Finding[]> {
  const { databaseUrl } = settings
  if (databaseUrl === undefined) return []
  const { isPrepared } = await import('../../store/postgres/inspect.ts')
  // Opening the database would create its tables.
  if (!(await isPrepared(databaseUrl))) return []
  const database = await openDatabase(settings)
  try {
    return await checkSecretsOf(database, settings)
  } finally {
    await database.close()
  }
}

/** As `checkSecrets`, for an open database. */
export async function checkSecretsOf(database: Database, settings: Settings): Promise<Finding[]> {
  try {
    const { total, older } = await checkEncrypted(database, createSecretBox(settings.secretKeys))
    if (total === 0) return [{ state: 'ok', text: 'secrets: created by the first start' }]
    if (older === 0) return [{ state: 'ok', text: `secrets: all ${total} are encrypted with ${firstOf(settings)}` }]
    const advice = 'Restart every replica with both keys, the new key first. The old key is needed until this count is 0.'
    return [{ state: 'warn', text: `secrets: ${older} of ${total} are encrypted with the second key of SECRET_KEY`, advice }]
  } catch (error) {
    const advice =
      'Without SECRET_KEY the keys, callbacks and configurations of this database are lost: search backups of your settings for the value.'
    return [{ state: 'fail', text: `secrets: ${messageOf(error)}`, advice }]
  }
}

function firstOf({ secretKeys }: Settings): string {
  return secretKeys.length > 1 ? 'the first key of SECRET_KEY; the second key can be removed' : 'SECRET_KEY'
}
