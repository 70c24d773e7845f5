import { createHash } from 'node:crypto'
import { access, mkdir, readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import type { CellValue, Row } from 'read-excel-file/node'
import { readSheet } from 'read-excel-file/node'
import { writeWhole } from '../../files/write-whole.ts'
import type { SourceFile } from './tables.ts'

/**
 * Converts the first sheet of a workbook to a file of JSON lines, which stays in `cacheDir` until the workbook changes. The first row has the
 * column names. DuckDB's own support for workbooks is an extension which would have to be downloaded.
 */
export async function convertSpreadsheet(file: SourceFile, cacheDir: string): Promise<string> {
  const prefix = `sheet-${createHash('sha256').update(file.path).digest('hex').slice(0, 24)}-`
  const target = path.join(cacheDir, `${prefix}${file.version}.ndjson`)
  if (await exists(target)) return target
  const rows = await readSheet(file.path)
  await mkdir(cacheDir, { recursive: true, mode: 0o700 })
  await writeWhole(target, toLines(rows))
  await removeOthers(cacheDir, prefix, path.basename(target))
  return target
}

function toLines([header = [], ...rows]: Row[]): string {
  const names = toColumnNames(header)
  if (names.length === 0) throw new Error('The first sheet is empty.')
  return rows.map((row) => `${JSON.stringify(Object.fromEntries(names.map((name, index) => [name, toCell(row[index])])))}\n`).join('')
}

/** Makes the column names unique. DuckDB compares names without case. */
function toColumnNames(header: Row): string[] {
  const usedNames = new Set<string>()
  return header.map((cell, index) => {
    const baseName = cell === null ? `column_${index + 1}` : String(toCell(cell))
    let name = baseName
    for (let count = 1; usedNames.has(name.toLowerCase()); count++) name = `${baseName}_${count}`
    usedNames.add(name.toLowerCase())
    return name
  })
}

function toCell(cell: CellValue | null | undefined): string | number | boolean | null {
  if (!(cell instanceof Date)) return (cell ?? null) as string | number | boolean | null
  const text = cell.toISOString()
  return text.endsWith('T00:00:00.000Z') ? text.slice(0, 10) : text.replace('Z', '')
}

async function removeOthers(folder: string, prefix: string, current: string): Promise<void> {
  const outdated = (await readdir(folder)).filter((name) => name.startsWith(prefix) && name.endsWith('.ndjson') && name !== current)
  await Promise.all(outdated.map((name) => rm(path.join(folder, name), { force: true })))
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}
