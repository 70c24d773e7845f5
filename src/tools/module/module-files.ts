import { statSync, watch, type FSWatcher } from 'node:fs'
import { registerHooks } from 'node:module'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

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

/** Delay before a check: editors write in several steps. */
const settleMs = 100
/** Polling interval: not every file system reports changes, and a watcher does not follow a folder that is created again. */
const pollMs = 2_000

/** Calls `onChange` once when any of the files is changed, replaced, removed or created. */
export function watchFiles(onChange: () => void) {
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

  /** Watches further files, with their marks from before the read. */
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
    close(): void {
      isDone = true
      clearTimeout(pending)
      clearInterval(timer)
      for (const watcher of folders.values()) watcher.close()
    },
  }
}

export type FileWatch = ReturnType<typeof watchFiles>

/** Imports that resolve to files of the service, because a module is usually not part of a package. */
const provided: Readonly<Record<string, string>> = {
  'agent-core': new URL(`../../tool-module${path.extname(import.meta.filename)}`, import.meta.url).href,
}

/** Reports each local file that is loaded from now on, or not found. Files of packages are not reported. */
export function reportLoadedFiles(report: (file: FileMark) => void): void {
  const reported = new Set<string>()

  function reportOnce(url: string): void {
    if (!url.startsWith('file:') || url.includes('/node_modules/') || Object.values(provided).includes(url)) return
    const file = fileURLToPath(url)
    if (reported.has(file)) return
    reported.add(file)
    report(markFile(file))
  }

  registerHooks({
    resolve(specifier, context, next) {
      const providedUrl = provided[specifier]
      if (providedUrl !== undefined) return { url: providedUrl, shortCircuit: true }
      try {
        const resolved = next(specifier, context)
        reportOnce(resolved.url)
        return resolved
      } catch (error) {
        const missing = toMissing(specifier, context.parentURL)
        if (missing !== undefined) reportOnce(missing)
        // TypeBox is available for schemas even when the author has not installed the package.
        if (specifier === 'typebox') return next(specifier, { ...context, parentURL: import.meta.url })
        throw error
      }
    },
  })
}

/** The URL of a missing file; the module is loaded again when the file appears. */
function toMissing(specifier: string, parentURL: string | undefined): string | undefined {
  if (specifier.startsWith('file:')) return specifier
  if (path.isAbsolute(specifier)) return pathToFileURL(specifier).href
  return /^\.\.?\//.test(specifier) && parentURL?.startsWith('file:') ? new URL(specifier, parentURL).href : undefined
}
