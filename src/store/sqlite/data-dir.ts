import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isBusy } from './busy.ts'

/** Holds the folder as long as somebody refers to it. */
export interface HeldDataDir {
  release(): void
}

/**
 * Makes the folder and holds it for this process, by a lock that the system frees when the process ends, however it ends; a process id
 * would be worth nothing in a container. Throws when another has it.
 */
export function holdDataDir(dataDir: string): HeldDataDir {
  makeDataDir(dataDir)
  const lock = openLock(dataDir)
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

/** Whether a service, this process or another, holds the folder now. Makes and changes nothing. */
export function isHeld(dataDir: string): boolean {
  const file = path.join(dataDir, lockName)
  if (!existsSync(file)) return false
  const lock = new DatabaseSync(file, { readOnly: true, timeout: 0 })
  try {
    lock.exec('select 1 from sqlite_master')
    return false
  } catch (error) {
    if (isBusy(error)) return true
    throw error
  } finally {
    lock.close()
  }
}

const lockName = 'lock.db'

function openLock(dataDir: string): DatabaseSync {
  const file = path.join(dataDir, lockName)
  makePrivate(file)
  return new DatabaseSync(file, { timeout: 0 })
}

/** What this service puts into its data directory. */
const ownFiles = /^((lock|agent-core)\.db|(signing-key|service)\.json|admin\.key|callback-secret|(cache|artifacts|config-backups)$)/

/** Makes the folder for its owner alone; one that is there becomes so where nothing but ours is in it: it might be anybody's else. */
export function makeDataDir(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (isOpenToOthers(dataDir) && readdirSync(dataDir).every((name) => ownFiles.test(name))) closeToOthers(dataDir, 0o700)
}

/** Whether other users of this machine may do anything with the file or folder. */
export function isOpenToOthers(file: string): boolean {
  return (statSync(file).mode & 0o077) !== 0
}

/**
 * Makes a database file with mode 0600 before SQLite, which would make one that others can read; its `-wal` and `-shm` get the mode of
 * the file. A file that is there is never opened here: closing it would free the locks that this process has on it.
 */
export function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    if (isOpenToOthers(file)) closeToOthers(file, 0o600)
  }
}

/** Where it belongs to another user it stays as it is; `doctor` tells. */
function closeToOthers(file: string, mode: number): void {
  try {
    chmodSync(file, mode)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  }
}
