import { createHash } from 'node:crypto'
import { access, mkdir, readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import type { CellValue, Row } from 'read-excel-file/node'
import { readSheet } from 'read-excel-file/node'
import { writeWhole } from '../../files/write-whole.ts'
import type { SourceFile } from './database.ts'

/**
 * The first sheet of a workbook as a file of JSON lines, kept in `cacheDir` until the workbook changes. The first row holds the
 * column names. DuckDB itself reads workbooks only with an extension that it would have to download.
 */
export async function convertSpreadsheet(file: SourceFile, cacheDir: string): Promise<string> {
  const prefix = `sheet-${createHash('sha256').update(file.path).digest('hex').slice(0, 24)}-`
  const target = path.join(cacheDir, `${prefix}${file.version}.ndjson`)
  if (await isThere(target)) return target
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

/** Every column needs a name of its own; DuckDB compares names without case. */
function toColumnNames(header: Row): string[] {
  const taken = new Set<string>()
  return header.map((cell, index) => {
    const wanted = cell === null ? `column_${index + 1}` : String(toCell(cell))
    let name = wanted
    for (let count = 1; taken.has(name.toLowerCase()); count++) name = `${wanted}_${count}`
    taken.add(name.toLowerCase())
    return name
  })
}

function toCell(cell: CellValue | null | undefined): string | number | boolean | null {
  if (!(cell instanceof Date)) return (cell ?? null) as string | number | boolean | null
  const text = cell.toISOString()
  return text.endsWith('T00:00:00.000Z') ? text.slice(0, 10) : text.replace('Z', '')
}

async function removeOthers(folder: string, prefix: string, kept: string): Promise<void> {
  const outdated = (await readdir(folder)).filter((name) => name.startsWith(prefix) && name.endsWith('.ndjson') && name !== kept)
  await Promise.all(outdated.map((name) => rm(path.join(folder, name), { force: true })))
}

function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}
