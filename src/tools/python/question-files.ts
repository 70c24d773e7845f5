import { readFile, stat } from 'node:fs/promises'
import type { ToolContext } from '../../agent/tool.ts'
import type { FilesRoot } from '../../files/root.ts'
import { createFileAccess, toRelative } from '../files/file-access.ts'
import type { RunFile } from './memory-files.ts'
import type { Workspace } from './workspaces.ts'

export interface QuestionFiles {
  /** True if all files loaded into the process may still be read in this context. */
  mayReuse(workspace: Workspace, context: Pick<ToolContext, 'isWithheld'>): boolean
  /** Returns new and changed files of the question, and notes about files which cannot be loaded. */
  load(workspace: Workspace, context: ToolContext): Promise<{ files: RunFile[]; notes: string[] }>
}

/** Loads the files of a question into Python, at most `maxBytes` in total for each conversation. */
export function createQuestionFiles(root: FilesRoot, maxBytes: number): QuestionFiles {
  const access = createFileAccess(root, { globs: [], matches: () => true })

  async function read(name: string, workspace: Workspace, context: ToolContext): Promise<RunFile | undefined> {
    const { path, absolute } = await access.locate(name, context)
    const { size, mtimeMs, ino } = await stat(absolute)
    const version = `${size} ${mtimeMs} ${ino}`
    if (workspace.loadedFiles.get(path)?.version === version) return undefined
    const otherBytes = [...workspace.loadedFiles].reduce((sum, [name, { bytes }]) => sum + (name === path ? 0 : bytes), 0)
    if (otherBytes + size > maxBytes)
      throw new Error(`${path} is not available in Python: at most ${toMegabytes(maxBytes)} MB of files can be loaded.`)
    const bytes = await readFile(absolute, { signal: context.signal })
    workspace.loadedFiles.set(path, { version, bytes: bytes.length, canonical: toRelative(root, absolute) })
    return { path, bytes }
  }

  return {
    mayReuse: (workspace, context) =>
      [...workspace.loadedFiles].every(([path, { canonical }]) => !context.isWithheld(path) && !context.isWithheld(canonical)),
    async load(workspace, context) {
      const files: RunFile[] = []
      const notes: string[] = []
      for (const name of context.contextFiles) {
        try {
          const file = await read(name, workspace, context)
          if (file) files.push(file)
        } catch (error) {
          context.signal.throwIfAborted()
          notes.push(error instanceof Error ? error.message : `${name} cannot be read.`)
        }
      }
      return { files, notes }
    },
  }
}

function toMegabytes(bytes: number): number {
  return Math.round(bytes / 1024 / 1024)
}
