import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { listBuiltFiles, type BuiltFile } from '../server/built-files.ts'

/** The built console: a page and its files. */
export interface ConsoleBundle {
  /** Text of `index.html`. */
  page: string
  /** Files by their path below `/console/`, such as `assets/index-B1x2.js`. */
  files: ReadonlyMap<string, BuiltFile>
}

/** Opens a build. Undefined when the folder holds no build. */
export async function openBundle(folder: string): Promise<ConsoleBundle | undefined> {
  const page = await readFile(path.join(folder, 'index.html'), 'utf8').catch(() => undefined)
  if (page === undefined) return undefined
  const files = await listBuiltFiles(folder)
  files.delete('index.html')
  return { page, files }
}
