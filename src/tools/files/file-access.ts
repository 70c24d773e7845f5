import path from 'node:path'
import type { ToolContext } from '../../agent/tool.ts'
import type { Patterns } from '../../files/patterns.ts'
import type { FilesRoot } from '../../files/root.ts'

/** The files that a tool may show within one call: those of its patterns, less what a data filter of the run withholds. */
export interface FileAccess {
  list(context: Pick<ToolContext, 'isWithheld'>): Promise<string[]>
  /** Throws an `Error` in words when the file is missing, not among the tool's files, or withheld. */
  locate(name: string, context: Pick<ToolContext, 'isWithheld'>): Promise<{ path: string; absolute: string }>
}

export function createFileAccess(files: FilesRoot, { globs, matches }: Patterns): FileAccess {
  // A link inside of the root gives a file a second name: withheld under one of them is withheld.
  function isWithheld(relative: string, absolute: string, context: Pick<ToolContext, 'isWithheld'>): boolean {
    return context.isWithheld(relative) || context.isWithheld(toRelative(files, absolute))
  }

  return {
    async list(context) {
      const open: string[] = []
      for (const relative of await files.list(globs)) {
        const absolute = await files.resolve(relative).catch(() => undefined)
        if (absolute !== undefined && !isWithheld(relative, absolute, context)) open.push(relative)
      }
      return open
    },
    async locate(name, context) {
      const relative = files.normalise(name)
      if (!matches(relative)) throw new Error(`${name} is not among the files of this tool.`)
      const absolute = await files.resolve(relative)
      if (isWithheld(relative, absolute, context)) throw new Error(`${name} can not be read: a data filter restricts it.`)
      return { path: relative, absolute }
    },
  }
}

/** The canonical name of a resolved file. */
export function toRelative(files: FilesRoot, absolute: string): string {
  return path.relative(files.path, absolute).split(path.sep).join('/')
}
