import { watch, type FSWatcher } from 'node:fs'
import path from 'node:path'
import { markFile, type FileMark } from './file-mark.ts'

/** Delay before a check: editors write in several steps. */
const settleMs = 100
/** Polling interval: not every file system reports changes, and a watcher does not follow a folder that is created again. */
const pollMs = 2_000

export interface FileWatch {
  /** Watches further files, with their marks from before the read. */
  add(files: readonly FileMark[]): void
  close(): void
}

/** Calls `onChange` once when any of the files is changed, replaced, removed or created. */
export function watchFiles(onChange: () => void): FileWatch {
  const marks = new Map<string, FileMark>()
  const folders = new Map<string, FSWatcher>()
  let pending: NodeJS.Timeout | undefined
  let isDone = false

  function check(): void {
    if (isDone || ![...marks.values()].some(({ path, mark }) => markFile(path).mark !== mark)) return
    isDone = true
    onChange()
  }

  function checkSoon(): void {
    clearTimeout(pending)
    pending = setTimeout(check, settleMs).unref()
  }

  /** Watches the folder and not the file, because a rename can replace the file. When the system has no more watchers, polling remains. */
  function watchFolder(folder: string): void {
    if (folders.has(folder)) return
    try {
      const watcher = watch(folder, { persistent: false }, checkSoon)
      watcher.on('error', () => watcher.close())
      folders.set(folder, watcher)
    } catch {
      // The folder cannot be watched, or does not exist yet: polling remains.
    }
  }

  function add(files: readonly FileMark[]): void {
    if (isDone) return
    for (const file of files) {
      // The first mark is kept, because later marks could hide a change.
      if (!marks.has(file.path)) marks.set(file.path, file)
      watchFolder(path.dirname(file.path))
    }
    checkSoon()
  }

  const timer = setInterval(check, pollMs).unref()
  return {
    add,
    close() {
      isDone = true
      clearTimeout(pending)
      clearInterval(timer)
      for (const watcher of folders.values()) watcher.close()
    },
  }
}
