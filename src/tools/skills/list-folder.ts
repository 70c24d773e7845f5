import { opendir, readlink, realpath, stat } from 'node:fs/promises'
import type { BigIntStats } from 'node:fs'
import path from 'node:path'
import { skillLimits } from '../../configuration/skills/skills-schema.ts'

/** A file below the folder of a skill. */
export interface ListedFile {
  /** Relative to the folder, with `/` between parts. */
  path: string
  /** The absolute path with links resolved. */
  absolute: string
  bytes: number
  /** Changes when the file is modified or replaced. */
  mark: string
  /** Why the file is never read. */
  reason?: string
}

/** Entries of a folder that are looked at, hidden ones included. */
const maxEntries = 2000

/**
 * The files below a folder, sorted by path, without hidden files and hidden folders. Links are followed inside of the folder alone, since a
 * mounted ConfigMap consists of links. Throws for a folder that is too large.
 */
export async function listFolder(folder: string): Promise<ListedFile[]> {
  const root = await realpath(folder)
  const files: ListedFile[] = []
  let entryCount = 0
  let bytes = 0

  async function add(relative: string, ancestors: readonly string[]): Promise<void> {
    const file = await locate(root, relative)
    if (file.isFolder) return enter(relative, file.absolute, ancestors)
    files.push(file)
    bytes += file.bytes
    if (files.length > skillLimits.files) throw new Error(`has more than ${skillLimits.files} files`)
    if (bytes > skillLimits.skillBytes) throw new Error(`has more than ${skillLimits.skillBytes} bytes`)
  }

  async function enter(relative: string, absolute: string, ancestors: readonly string[]): Promise<void> {
    if (ancestors.includes(absolute)) return void files.push(refused(relative, 'is a link to a folder around itself', absolute))
    if (ancestors.length > skillLimits.depth) throw new Error(`has more than ${skillLimits.depth} folders within folders`)
    for await (const { name } of await opendir(absolute)) {
      if (++entryCount > maxEntries) throw new Error(`has more than ${maxEntries} entries`)
      // A line break in a name could forge a line of the hash.
      if (/\p{Cc}/u.test(name)) throw new Error('has a file whose name has control characters')
      if (!name.startsWith('.')) await add(relative === '' ? name : `${relative}/${name}`, [...ancestors, absolute])
    }
  }

  await enter('', root, [])
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

async function locate(root: string, relative: string): Promise<ListedFile & { isFolder?: boolean }> {
  const named = path.join(root, relative)
  const absolute = await realpath(named).catch(() => undefined)
  if (absolute === undefined) return refused(relative, 'is a link to nothing', await readlink(named).catch(() => ''))
  if (absolute !== root && !absolute.startsWith(root + path.sep))
    return refused(relative, 'is a link that leads out of the folder', absolute)
  const stats = await stat(absolute, { bigint: true }).catch(() => undefined)
  if (!stats) return refused(relative, 'is a link to nothing', '')
  if (stats.isDirectory()) return { path: relative, absolute, bytes: 0, mark: '', isFolder: true }
  if (!stats.isFile()) return refused(relative, 'is not a file', '')
  return { path: relative, absolute, bytes: Number(stats.size), mark: markOf(stats) }
}

function refused(relative: string, reason: string, target: string): ListedFile {
  return { path: relative, absolute: '', bytes: 0, mark: target, reason }
}

function markOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`
}
