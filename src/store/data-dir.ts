import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isBusy } from './sqlite-busy.ts'

export interface HeldDataDir {
  release(): void
}

/**
 * Makes the folder (mode 0700) and holds it for this process, by a lock that the system frees when the process ends, however it ends;
 * a process id would be worth nothing in a container. Throws when another has it.
 */
export function holdDataDir(dataDir: string): HeldDataDir {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const lock = new DatabaseSync(path.join(dataDir, 'lock.db'), { timeout: 0 })
  try {
    lock.exec('begin exclusive')
  } catch (error) {
    lock.close()
    if (!isBusy(error)) throw error
    throw new Error(`Another agent-core is using ${dataDir}. Stop it, or set DATA_DIR to another folder.`, { cause: error })
  }
  return {
    release() {
      if (lock.isOpen) lock.close()
    },
  }
}
