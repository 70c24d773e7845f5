import { readFile, stat } from 'node:fs/promises'
import type { ToolContext } from '../../agent/tool.ts'
import type { FilesRoot } from '../../files/root.ts'
import { createFileAccess, toRelative } from '../files/file-access.ts'
import type { RunFile } from './memory-files.ts'
import type { Room } from './rooms.ts'

export interface GivenFiles {
  /** Whether everything that was put into the room may still be read. */
  mayKeep(room: Room, context: Pick<ToolContext, 'isWithheld'>): boolean
  /** The files of the question that the room does not have as they are now, and what is to be told of those that it does not get. */
  bring(room: Room, context: ToolContext): Promise<{ files: RunFile[]; notes: string[] }>
}

/** Takes the files that came with a question into Python: `maxBytes` of them for one conversation. */
export function createGivenFiles(root: FilesRoot, maxBytes: number): GivenFiles {
  const access = createFileAccess(root, { globs: [], matches: () => true })

  async function read(name: string, room: Room, context: ToolContext): Promise<RunFile | undefined> {
    const { path, absolute } = await access.locate(name, context)
    const { size, mtimeMs, ino } = await stat(absolute)
    const version = `${size} ${mtimeMs} ${ino}`
    if (room.given.get(path)?.version === version) return undefined
    const others = [...room.given].reduce((sum, [other, { bytes }]) => sum + (other === path ? 0 : bytes), 0)
    if (others + size > maxBytes) throw new Error(`${path} is not there for Python: it takes ${toMegabytes(maxBytes)} MB of files at most.`)
    const bytes = await readFile(absolute, { signal: context.signal })
    room.given.set(path, { version, bytes: bytes.length, canonical: toRelative(root, absolute) })
    return { path, bytes }
  }

  return {
    mayKeep: (room, context) =>
      [...room.given].every(([path, { canonical }]) => !context.isWithheld(path) && !context.isWithheld(canonical)),
    async bring(room, context) {
      const files: RunFile[] = []
      const notes: string[] = []
      for (const name of context.contextFiles) {
        try {
          const file = await read(name, room, context)
          if (file) files.push(file)
        } catch (error) {
          context.signal.throwIfAborted()
          notes.push(error instanceof Error ? error.message : `${name} can not be read.`)
        }
      }
      return { files, notes }
    },
  }
}

function toMegabytes(bytes: number): number {
  return Math.round(bytes / 1024 / 1024)
}
