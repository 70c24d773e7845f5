import { readFile, stat } from 'node:fs/promises'
import type { ToolContext } from '../../agent/tool.ts'
import type { FilesRoot } from '../../files/root.ts'
import { createFileAccess, toRelative } from '../files/file-access.ts'
import type { RunFile } from './memory-files.ts'
import type { Room } from './pool.ts'

export interface QuestionFiles {
  /** True if all files loaded into the room may still be read in this context. */
  mayReuse(room: Room, context: Pick<ToolContext, 'isWithheld'>): boolean
  /** Returns new and changed files of the question, and notes about files which cannot be loaded. */
  load(room: Room, context: ToolContext): Promise<{ files: RunFile[]; notes: string[] }>
}

/** Loads the files of a question into Python, at most `maxBytes` in total for each conversation. */
export function createQuestionFiles(root: FilesRoot, maxBytes: number): QuestionFiles {
  const access = createFileAccess(root, { globs: [], matches: () => true })

  async function read(name: string, room: Room, context: ToolContext): Promise<RunFile | undefined> {
    const { path, absolute } = await access.locate(name, context)
    const { size, mtimeMs, ino } = await stat(absolute)
    const version = `${size} ${mtimeMs} ${ino}`
    if (room.given.get(path)?.version === version) return undefined
    const otherBytes = [...room.given].reduce((sum, [name, { bytes }]) => sum + (name === path ? 0 : bytes), 0)
    if (otherBytes + size > maxBytes)
      throw new Error(`${path} is not available in Python: at most ${toMegabytes(maxBytes)} MB of files can be loaded.`)
    const bytes = await readFile(absolute, { signal: context.signal })
    room.given.set(path, { version, bytes: bytes.length, canonical: toRelative(root, absolute) })
    return { path, bytes }
  }

  return {
    mayReuse: (room, context) =>
      [...room.given].every(([path, { canonical }]) => !context.isWithheld(path) && !context.isWithheld(canonical)),
    async load(room, context) {
      const files: RunFile[] = []
      const notes: string[] = []
      for (const name of context.contextFiles) {
        try {
          const file = await read(name, room, context)
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
