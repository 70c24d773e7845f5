import { stat } from 'node:fs/promises'
import path from 'node:path'
import { isGlob } from '../../configuration/glob-braces.ts'
import { createFileSet } from '../../files/file-set.ts'
import { createPatterns } from '../../files/patterns.ts'
import type { FilesRoot } from '../../files/root.ts'
import { toRelative } from '../files/files.ts'

export type TableFormat = 'csv' | 'tsv' | 'json' | 'ndjson' | 'parquet' | 'xlsx'

export interface SourceFile {
  /** Absolute path. */
  path: string
  /** Changes whenever the file changes. */
  version: string
}

export interface TableSource {
  name: string
  format: TableFormat
  files: SourceFile[]
}

const formats: Readonly<Record<string, TableFormat>> = {
  '.csv': 'csv',
  '.tsv': 'tsv',
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.parquet': 'parquet',
  '.xlsx': 'xlsx',
}

/** The configured tables and their files at the time of each call. */
export function createTables(paths: Readonly<Record<string, string>>, files: FilesRoot) {
  const tables = Object.entries(paths).map(([name, configured]) => {
    const pattern = files.normalise(configured)
    return { name, pattern, patterns: isGlob(pattern) ? createPatterns([pattern]) : undefined }
  })
  // All names of a table's files, as found last. A file may have several names, and withholding any of them withholds the file.
  const fileNames = new Map<string, string[]>()
  const present = createFileSet(files.path, {
    paths: tables.flatMap(({ pattern, patterns }) => (patterns ? [] : [pattern])),
    globs: tables.flatMap(({ patterns }) => patterns?.globs ?? []),
  })

  /** Throws an `Error` with the name of the table and the path. `withheld` has the names of tables withheld from the call. */
  async function find(isWithheld: (path: string) => boolean): Promise<{ sources: TableSource[]; withheld: string[] }> {
    const sources: TableSource[] = []
    const withheld: string[] = []
    for (const { name, pattern, patterns } of tables) {
      const relatives = patterns ? await files.list(patterns.globs) : [pattern]
      if (relatives.length === 0) throw new Error(`The table ${name} has no file: nothing matches ${pattern}.`)
      const source = await toSource(name, relatives, files)
      fileNames.set(name, [...new Set([...relatives, ...source.files.map((file) => toRelative(files, file.path))])])
      if (isTableWithheld(name, isWithheld)) withheld.push(name)
      else sources.push(source)
    }
    return { sources, withheld }
  }

  /** True if the file belongs to a table, under any name and with the current targets of links. */
  function reads(relative: string): boolean {
    try {
      const canonical = files.normalise(relative)
      if (tables.some(({ pattern, patterns }) => pattern === canonical || patterns?.matches(canonical))) return true
      return present.has(canonical)
    } catch {
      // No table reads a path outside the root.
      return false
    }
  }

  /** True if a table is withheld from a call, judged by the files found last. */
  function isTableWithheld(table: string, isWithheld: (path: string) => boolean): boolean {
    return fileNames.get(table)?.some(isWithheld) ?? false
  }

  return { find, reads, isWithheld: isTableWithheld }
}

export type Tables = ReturnType<typeof createTables>

async function toSource(name: string, relatives: readonly string[], files: FilesRoot): Promise<TableSource> {
  const tableFormats = new Set(relatives.map((relative) => formats[path.extname(relative).toLowerCase()]))
  const [format] = tableFormats
  if (tableFormats.size !== 1 || format === undefined) {
    const extensions = Object.keys(formats).join(', ')
    throw new Error(`The table ${name} (${relatives[0]}) must consist of files of the same kind: ${extensions}.`)
  }
  const sources: SourceFile[] = []
  for (const relative of relatives) sources.push(await toFile(name, relative, files))
  return { name, format, files: sources }
}

async function toFile(table: string, relative: string, files: FilesRoot): Promise<SourceFile> {
  try {
    const absolute = await files.resolve(relative)
    const { mtimeMs, size, ino } = await stat(absolute)
    return { path: absolute, version: `${mtimeMs}-${size}-${ino}` }
  } catch (error) {
    throw new Error(`The table ${table} cannot be read: ${error instanceof Error ? error.message : relative}`, { cause: error })
  }
}
