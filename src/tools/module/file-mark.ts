import { statSync } from 'node:fs'

/** A file as it was at one time. */
export interface FileMark {
  path: string
  /** Differs when the file is another, or is not there. */
  mark: string
}

/** Taken before a file is read: a change while it is read is seen as one. Never throws: a file that can't be looked at is missing. */
export function markFile(path: string): FileMark {
  try {
    const { ino, size, mtimeNs } = statSync(path, { bigint: true })
    return { path, mark: `${ino}:${size}:${mtimeNs}` }
  } catch {
    return { path, mark: 'missing' }
  }
}
