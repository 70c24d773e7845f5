import { ServiceError } from '../../errors.ts'
import { FileChanged, type ConfigurationFile } from '../configuration-store.ts'

interface Replacement {
  /** The configuration so far. */
  before: string
  /** The text of the file, which may be an edit that is not in effect. */
  held: string
  after: string
}

/** Returns the path of the backup of `before`. */
export async function replaceFile(file: ConfigurationFile, { before, held, after }: Replacement): Promise<string> {
  try {
    if (held !== before && held !== after) await file.backUp(held)
    const backup = await file.backUp(before)
    try {
      if (held !== after) await file.replace(held, after)
    } catch (error) {
      await backup.remove().catch(() => undefined)
      throw error
    }
    return backup.path
  } catch (error) {
    if (error instanceof FileChanged) throw edited(file, error)
    const { code = 'unknown error' } = error as NodeJS.ErrnoException
    const message = `${file.name} could not be written (${code}); nothing was changed.`
    throw new ServiceError('configuration_not_stored', `${message} A change with in_memory_only does not write the file.`, {
      cause: error,
    })
  }
}

/**
 * Takes the text of a change back that could not be recorded. The gate would refuse the text at the next start, and the ledger would lack the
 * reason of an override.
 */
export async function undo(file: ConfigurationFile, { held, after }: Partial<Replacement>, cause: unknown): Promise<never> {
  if (held !== undefined && after !== undefined && held !== after) await file.replace(after, held).catch(() => undefined)
  throw new ServiceError('configuration_not_stored', 'The change could not be recorded in the database; nothing was changed.', { cause })
}

export function edited(file: ConfigurationFile, cause: unknown): ServiceError {
  const message = `${file.name} was edited or removed, and the edit is not in effect (see the log)`
  return new ServiceError('configuration_not_stored', `${message}; nothing was changed.`, { cause })
}
