import { realpath, stat, glob } from 'node:fs/promises'
import path from 'node:path'

/** A path does not exist, leaves the root or is not a plain file. The message names the path as the caller wrote it. */
export class PathError extends Error {
  override readonly name = 'PathError'
}

/** Maximum length of a path in characters, equal to `PATH_MAX` of Linux in bytes. */
export const maxPath = 4096

/** A folder whose files are read without leaving it, neither by `..` nor by a symbolic link. */
export interface FilesRoot {
  /** Absolute path of the folder with links resolved. */
  readonly path: string
  /** The absolute path of an existing file named relative to the root; throws `PathError`. */
  resolve(relative: string): Promise<string>
  /** The canonical spelling of `relative` (`/` between parts, no `.` or `..`). Throws `PathError` if the path leaves the root. */
  normalise(relative: string): string
  /** Relative paths of the files which match any glob pattern, sorted. Hidden files and links to the outside are left out. */
  list(patterns: readonly string[]): Promise<string[]>
  /** The files of `list`. */
  find(patterns: readonly string[]): Promise<FoundFile[]>
}

export interface FoundFile {
  /** Relative to the root. */
  file: string
  /** Absolute path with links resolved. */
  absolute: string
  mtimeMs: number
  size: number
}

/** Files that are looked at together: the time of each is mostly that of a turn of the event loop. */
const together = 32

export async function openFilesRoot(folder: string): Promise<FilesRoot> {
  const root = await realpath(folder)

  function normalise(relative: string): string {
    if (relative.length > maxPath) throw new PathError(`A path can have at most ${maxPath} characters; this has ${relative.length}.`)
    if (relative.includes('\0')) throw new PathError('A path cannot contain a NUL character.')
    const inside = path.relative(root, path.resolve(root, relative))
    if (inside === '..' || inside.startsWith(`..${path.sep}`) || path.isAbsolute(inside)) {
      throw new PathError(`${relative} is outside of the files root.`)
    }
    return inside.split(path.sep).join('/')
  }

  async function locate(relative: string): Promise<FoundFile> {
    const absolute = path.join(root, normalise(relative))
    // The real path is checked, since a link inside the root may lead anywhere.
    const real = await realpath(absolute).catch(() => undefined)
    if (real === undefined) throw new PathError(`${relative} does not exist.`)
    if (real !== root && !real.startsWith(root + path.sep)) throw new PathError(`${relative} is outside of the files root.`)
    const stats = await stat(real)
    if (!stats.isFile()) throw new PathError(`${relative} is not a file.`)
    return { file: relative, absolute: real, mtimeMs: stats.mtimeMs, size: stats.size }
  }

  async function find(patterns: readonly string[]): Promise<FoundFile[]> {
    const matches = new Set<string>()
    for await (const entry of glob([...patterns], { cwd: root })) {
      const relative = entry.split(path.sep).join('/')
      if (!relative.split('/').some((part) => part.startsWith('.'))) matches.add(relative)
    }
    const names = [...matches].sort()
    const found: (FoundFile | undefined)[] = []
    for (let at = 0; at < names.length; at += together) {
      found.push(...(await Promise.all(names.slice(at, at + together).map((name) => locate(name).catch(() => undefined)))))
    }
    return found.filter((file) => file !== undefined)
  }

  return {
    path: root,
    resolve: async (relative) => (await locate(relative)).absolute,
    normalise,
    list: async (patterns) => (await find(patterns)).map(({ file }) => file),
    find,
  }
}
