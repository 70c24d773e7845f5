import path from 'node:path'
import type { ToolContext } from '../../agent/tool.ts'
import type { Patterns } from '../../files/patterns.ts'
import type { FilesRoot } from '../../files/root.ts'

/** The files which a tool may show in a call: the files of its patterns without files withheld by a data filter of the run. */
export interface FileAccess {
  list(context: Pick<ToolContext, 'isWithheld'>): Promise<string[]>
  /** Throws an `Error` with the reason if the file is missing, not among the files of the tool, or withheld. */
  locate(name: string, context: Pick<ToolContext, 'isWithheld'>): Promise<{ path: string; absolute: string }>
}

export function createFileAccess(files: FilesRoot, { globs, matches }: Patterns): FileAccess {
  // A link inside the root gives a file a second name. A file withheld under either name is withheld.
  function isWithheld(relative: string, absolute: string, context: Pick<ToolContext, 'isWithheld'>): boolean {
    return context.isWithheld(relative) || context.isWithheld(toRelative(files, absolute))
  }

  return {
    async list(context) {
      const readable: string[] = []
      for (const relative of await files.list(globs)) {
        const absolute = await files.resolve(relative).catch(() => undefined)
        if (absolute !== undefined && !isWithheld(relative, absolute, context)) readable.push(relative)
      }
      return readable
    },
    async locate(name, context) {
      const relative = files.normalise(name)
      if (!matches(relative)) throw new Error(`${name} is not among the files of this tool.`)
      const absolute = await files.resolve(relative)
      if (isWithheld(relative, absolute, context)) throw new Error(`${name} cannot be read: a data filter restricts it.`)
      return { path: relative, absolute }
    },
  }
}

/** The canonical name of a resolved file. */
export function toRelative(files: FilesRoot, absolute: string): string {
  return path.relative(files.path, absolute).split(path.sep).join('/')
}
