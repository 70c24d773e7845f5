import { watch, type FSWatcher } from 'node:fs'
import path from 'node:path'
import { markFile, type FileMark } from './file-mark.ts'

/** Editors write in more than one step. */
const settleMs = 100
/** Not every file system tells of its changes, and a folder that was made anew is another. */
const lookEveryMs = 2_000

export interface FileWatch {
  /** Follows further files, as they were when they were read. */
  add(files: readonly FileMark[]): void
  close(): void
}

/** Tells once of a change to any of some files, also where they are replaced, removed or made. */
export function watchFiles(onChange: () => void): FileWatch {
  const marks = new Map<string, FileMark>()
  const folders = new Map<string, FSWatcher>()
  let pending: NodeJS.Timeout | undefined
  let isTold = false

  function look(): void {
    if (isTold || ![...marks.values()].some(({ path, mark }) => markFile(path).mark !== mark)) return
    isTold = true
    onChange()
  }

  function soon(): void {
    clearTimeout(pending)
    pending = setTimeout(look, settleMs).unref()
  }

  /** A file that is replaced by a rename is another one: its folder is watched. A system that watches nothing more leaves the looking. */
  function follow(folder: string): void {
    if (folders.has(folder)) return
    try {
      const watcher = watch(folder, { persistent: false }, soon)
      watcher.on('error', () => watcher.close())
      folders.set(folder, watcher)
    } catch {
      // As above; a folder that is not there yet, too.
    }
  }

  function add(files: readonly FileMark[]): void {
    if (isTold) return
    for (const file of files) {
      // The first mark is the oldest: what changed behind it is a change.
      if (!marks.has(file.path)) marks.set(file.path, file)
      follow(path.dirname(file.path))
    }
    soon()
  }

  const timer = setInterval(look, lookEveryMs).unref()
  return {
    add,
    close() {
      isTold = true
      clearTimeout(pending)
      clearInterval(timer)
      for (const watcher of folders.values()) watcher.close()
    },
  }
}
