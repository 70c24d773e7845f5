import { statSync } from 'node:fs'

/** The state of a file at one moment. */
export interface FileMark {
  path: string
  /** Changes when the file is modified, replaced or removed. */
  mark: string
}

/** Marks the state of a file. Called before the file is read, so that a change during the read is detected. Never throws: an inaccessible file counts as missing. */
export function markFile(path: string): FileMark {
  try {
    const { ino, size, mtimeNs } = statSync(path, { bigint: true })
    return { path, mark: `${ino}:${size}:${mtimeNs}` }
  } catch {
    return { path, mark: 'missing' }
  }
}
