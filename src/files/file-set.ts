import { globSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'

/** Files of a root, known by what they are and not by how they are called: a link, or a second name, is the file itself. */
export interface FileSet {
  /** As things lie at the moment of asking. A file that is not there is in no set. */
  has(relative: string): boolean
}

export interface FileSetOptions {
  /** Relative to the root, each looked at whenever asked. */
  paths?: readonly string[]
  /** What newly matches is noticed within a second, or longer where looking takes long; where a known link leads, at once. */
  globs?: readonly string[]
  /** Epoch milliseconds. */
  now?(): number
}

const believedMs = 1_000
/** So that looking never is most of the work. */
const believedPerLook = 20

export function createFileSet(root: string, { paths = [], globs = [], now = Date.now }: FileSetOptions): FileSet {
  let matched = { identities: new Set<string>(), links: [] as string[], believedUntil: -Infinity }

  function look(): void {
    const started = now()
    const identities = new Set<string>()
    const links: string[] = []
    for (const name of globs.length > 0 ? globSync([...globs], { cwd: root }) : []) {
      if (name.split(path.sep).some((part) => part.startsWith('.'))) continue
      const identity = identityOf(path.join(root, name))
      if (identity === undefined) continue
      identities.add(identity)
      if (isLink(path.join(root, name))) links.push(name)
    }
    matched = { identities, links, believedUntil: now() + Math.max(believedMs, (now() - started) * believedPerLook) }
  }

  return {
    has(relative) {
      const asked = identityOf(path.join(root, relative))
      if (asked === undefined) return false
      if (now() >= matched.believedUntil) look()
      return matched.identities.has(asked) || [...paths, ...matched.links].some((name) => identityOf(path.join(root, name)) === asked)
    },
  }
}

function identityOf(absolute: string): string | undefined {
  try {
    // As `number` the inodes of some file systems would lose digits.
    const found = statSync(absolute, { bigint: true, throwIfNoEntry: false })
    return found?.isFile() ? `${found.dev}:${found.ino}` : undefined
  } catch {
    return undefined
  }
}

/** Also a file in a folder that is one. */
function isLink(absolute: string): boolean {
  try {
    return realpathSync.native(absolute) !== absolute
  } catch {
    return true
  }
}
