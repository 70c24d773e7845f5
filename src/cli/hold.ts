import type { Settings } from '../settings/settings.ts'
import { holdDataDir } from '../store/sqlite/data-dir.ts'
import { withdraw } from './running-service.ts'
import { CommandFailure } from './terminal.ts'
import { messageOf } from '../errors.ts'

/** Holds the data directory for this process; fails where another has it. */
export function hold({ dataDir, databaseUrl }: Settings): { release(): void } {
  // Processes that share a database share nothing in their data directories.
  if (databaseUrl !== undefined) return { release: () => undefined }
  try {
    const held = holdDataDir(dataDir)
    // One that was killed could not do it itself.
    withdraw(dataDir)
    return {
      release() {
        withdraw(dataDir)
        held.release()
      },
    }
  } catch (error) {
    throw new CommandFailure(1, [messageOf(error)])
  }
}
