import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isBusy } from './faults.ts'

/** A held data directory. Callers must keep the reference: a garbage-collected lock is released. */
export interface HeldDataDir {
  release(): void
}

/**
 * Creates the folder and locks it for this process. The system frees the lock however the process ends; a file with a process id would be
 * useless in a container. Throws when another process holds the folder.
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

/** True when this process or another holds the folder now. Creates and changes nothing. */
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

/** Names that the service uses in the data directory. */
const ownFiles =
  /^(\.gitignore|(lock|agent-core)\.db|(signing-key|service)\.json|admin\.key|callback-secret|content-key|(cache|artifacts|config-backups)$)/

/**
 * Creates the folder with mode 0700. An existing folder gets the mode only when all files in the folder are the service's: a foreign
 * folder may be shared. Such a folder also keeps the keys and the database out of a surrounding git repository.
 */
export function makeDataDir(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const names = readdirSync(dataDir)
  if (!names.every((name) => ownFiles.test(name))) return
  if (isOpenToOthers(dataDir)) closeToOthers(dataDir, 0o700)
  if (!names.includes('.gitignore')) writeFileSync(path.join(dataDir, '.gitignore'), '*\n', { mode: 0o600 })
}

/** True when other users of this machine have any access to the file or folder. */
export function isOpenToOthers(file: string): boolean {
  return (statSync(file).mode & 0o077) !== 0
}

/**
 * Creates a database file with mode 0600, because SQLite would create a file readable by others. SQLite gives `-wal` and `-shm` the mode of
 * the file. An existing file is never opened here: closing a file releases all POSIX locks of this process on the file.
 */
export function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    if (isOpenToOthers(file)) closeToOthers(file, 0o600)
  }
}

/** Changes the mode. A file of another user keeps its mode; `doctor` reports such files. */
function closeToOthers(file: string, mode: number): void {
  try {
    chmodSync(file, mode)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  }
}
