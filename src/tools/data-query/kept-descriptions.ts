import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { writeWhole } from '../../files/write-whole.ts'
import type { TableDescription } from './table-lines.ts'
import type { TableSource } from './tables.ts'

/** Changed whenever DuckDB or a description changes. */
const version = 1

export interface KeptDescriptions {
  /** The descriptions of exactly these files, or undefined. */
  find(sources: readonly TableSource[]): Promise<TableDescription[] | undefined>
  keep(sources: readonly TableSource[], tables: readonly TableDescription[]): Promise<void>
}

/** Keeps the descriptions of a tool's tables in `cacheDir`, so that a start with unchanged files needs no query process. */
export function createKeptDescriptions(tool: string, cacheDir: string): KeptDescriptions {
  const file = path.join(cacheDir, `tables-${createHash('sha256').update(tool).digest('hex').slice(0, 24)}.json`)
  const keyOf = (sources: readonly TableSource[]) => JSON.stringify([version, sources])
  return {
    async find(sources) {
      try {
        const { key, tables } = JSON.parse(await readFile(file, 'utf8')) as { key: string; tables: TableDescription[] }
        return key === keyOf(sources) ? tables : undefined
      } catch {
        return undefined
      }
    },
    keep: (sources, tables) => writeWhole(file, JSON.stringify({ key: keyOf(sources), tables })),
  }
}
