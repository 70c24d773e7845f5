import type { Settings } from '../settings/settings.ts'
import { holdDataDir } from '../store/sqlite/data-dir.ts'
import { withdraw } from './running-service.ts'
import { CommandFailure } from './terminal.ts'
import { messageOf } from '../errors.ts'

/** Locks the data directory for this process; fails if another process holds the lock. */
export function hold({ dataDir, databaseUrl }: Settings): { release(): void } {
  // Processes with a shared database share nothing in their data directories.
  if (databaseUrl !== undefined) return { release: () => undefined }
  try {
    const lock = holdDataDir(dataDir)
    // A killed service leaves its address behind.
    withdraw(dataDir)
    return {
      release() {
        withdraw(dataDir)
        lock.release()
      },
    }
  } catch (error) {
    throw new CommandFailure(1, [messageOf(error)])
  }
}
