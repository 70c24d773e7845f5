import { realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import { glob } from 'node:fs/promises'

/** A path that is not there, leaves its root or is not a plain file. The message names the path as the caller wrote it. */
export class PathError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'PathError'
  }
}

/** Characters: as many bytes as Linux takes (`PATH_MAX`). */
export const maxPath = 4096

/** A folder that nothing read through it can leave, neither by `..` nor by a symbolic link. */
export interface FilesRoot {
  /** The folder itself, absolute, links resolved. */
  readonly path: string
  /** The absolute path of an existing file named relative to the root; throws `PathError`. */
  resolve(relative: string): Promise<string>
  /** `relative` in its one canonical spelling (`/` between parts, no `.` or `..`); throws `PathError` where it would leave. */
  normalise(relative: string): string
  /** Files under the root that match any of the glob patterns, relative, sorted. Hidden ones and links that lead outside are left out. */
  list(patterns: readonly string[]): Promise<string[]>
}

export async function openFilesRoot(folder: string): Promise<FilesRoot> {
  const root = await realpath(folder)

  function normalise(relative: string): string {
    if (relative.length > maxPath) throw new PathError(`A path can have at most ${maxPath} characters; this has ${relative.length}.`)
    if (relative.includes('\0')) throw new PathError('A path can not hold a NUL character.')
    const inside = path.relative(root, path.resolve(root, relative))
    if (inside === '..' || inside.startsWith(`..${path.sep}`) || path.isAbsolute(inside)) {
      throw new PathError(`${relative} is outside of the files root.`)
    }
    return inside.split(path.sep).join('/')
  }

  async function resolve(relative: string): Promise<string> {
    const absolute = path.join(root, normalise(relative))
    // The link's target counts, not its name: a link inside of the root may lead anywhere.
    const real = await realpath(absolute).catch(() => undefined)
    if (real === undefined) throw new PathError(`${relative} does not exist.`)
    if (real !== root && !real.startsWith(root + path.sep)) throw new PathError(`${relative} is outside of the files root.`)
    if (!(await stat(real)).isFile()) throw new PathError(`${relative} is not a file.`)
    return real
  }

  async function list(patterns: readonly string[]): Promise<string[]> {
    const found = new Set<string>()
    for await (const entry of glob([...patterns], { cwd: root })) {
      const relative = entry.split(path.sep).join('/')
      if (relative.split('/').some((part) => part.startsWith('.'))) continue
      if (await resolve(relative).catch(() => undefined)) found.add(relative)
    }
    return [...found].sort()
  }

  return { path: root, resolve, normalise, list }
}
