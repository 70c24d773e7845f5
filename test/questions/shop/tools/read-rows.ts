import { readFileSync } from 'node:fs'
import path from 'node:path'

/** Reads a CSV file of the shop without quoted fields. */
export function readRows(name: string): Record<string, string>[] {
  const file = path.join(import.meta.dirname, '../files/data', name)
  const [header = '', ...lines] = readFileSync(file, 'utf8').trim().split('\n')
  const columns = header.split(',')
  return lines.map((line) => Object.fromEntries(line.split(',').map((cell, index) => [columns[index], cell])))
}
