import { globSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'

/** A set of files identified by device and inode, not by name: a symbolic or hard link is the file itself. */
interface FileSet {
  /** True if the file is in the set now. A missing file is in no set. */
  has(relative: string): boolean
}

interface FileSetOptions {
  /** Relative to the root. Resolved at every call. */
  paths?: readonly string[]
  /** New matches are noticed within a second, or later if the search takes long. A changed target of a known link is noticed at once. */
  globs?: readonly string[]
  /** Current time in epoch milliseconds. */
  now?(): number
}

const validMs = 1_000
/** A search result stays valid for this many times the duration of the search, so that searches never dominate the load. */
const validPerSearch = 20

export function createFileSet(root: string, { paths = [], globs = [], now = Date.now }: FileSetOptions): FileSet {
  let matched = { identities: new Set<string>(), links: [] as string[], validUntil: -Infinity }

  function search(): void {
    const startedAt = now()
    const identities = new Set<string>()
    const links: string[] = []
    for (const name of globs.length > 0 ? globSync([...globs], { cwd: root }) : []) {
      if (name.split(path.sep).some((part) => part.startsWith('.'))) continue
      const identity = identityOf(path.join(root, name))
      if (identity === undefined) continue
      identities.add(identity)
      if (isLink(path.join(root, name))) links.push(name)
    }
    matched = { identities, links, validUntil: now() + Math.max(validMs, (now() - startedAt) * validPerSearch) }
  }

  return {
    has(relative) {
      const identity = identityOf(path.join(root, relative))
      if (identity === undefined) return false
      if (now() >= matched.validUntil) search()
      return matched.identities.has(identity) || [...paths, ...matched.links].some((name) => identityOf(path.join(root, name)) === identity)
    },
  }
}

function identityOf(absolute: string): string | undefined {
  try {
    // `bigint`, since inodes of some file systems lose digits as `number`.
    const file = statSync(absolute, { bigint: true, throwIfNoEntry: false })
    return file?.isFile() ? `${file.dev}:${file.ino}` : undefined
  } catch {
    return undefined
  }
}

/** True also for a file inside a linked folder. */
function isLink(absolute: string): boolean {
  try {
    return realpathSync.native(absolute) !== absolute
  } catch {
    return true
  }
}
