import { ServiceError } from '../../errors.ts'

/** Sentences by primary result code of SQLite: https://www.sqlite.org/rescode.html */
const sentences: Readonly<Record<number, string>> = {
  // SQLITE_BUSY, SQLITE_READONLY, SQLITE_IOERR, SQLITE_CORRUPT, SQLITE_FULL, SQLITE_CANTOPEN, SQLITE_NOTADB
  5: 'Another process holds the database for too long.',
  8: 'The file of the database cannot be written.',
  10: 'The disk of the database fails.',
  11: 'The file of the database is damaged.',
  13: 'The disk of the database is full.',
  14: 'The file of the database cannot be opened.',
  26: 'The file of the database is damaged.',
}

/** The error for the caller of a failed query or commit: `store_unavailable` for a fault of file or disk, every other error unchanged. */
export function toStoreError(error: unknown): unknown {
  const sentence = sentences[codeOf(error)]
  return sentence === undefined ? error : new ServiceError('store_unavailable', sentence, { cause: error })
}

/** True when the disk has refused a call: nothing was stored, and another attempt may succeed. */
export function isDiskFault(error: unknown): boolean {
  const code = codeOf(error)
  return code === 10 || code === 13
}

/** True when another connection has the lock. */
export function isBusy(error: unknown): boolean {
  return codeOf(error) === 5
}

/** The primary result code of SQLite, in the low byte of `errcode`; 0 for an error of anything else. */
function codeOf(error: unknown): number {
  const { errcode = 0 } = error as { errcode?: number }
  return errcode & 0xff
}
