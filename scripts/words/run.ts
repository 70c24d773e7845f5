import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { findLongSubjects } from './commit-subjects.ts'
import { computeFigures, formatFigure, formatFindings, formatWorst, isExceeded } from './figures.ts'
import { createMeasurement, measureText } from './measure.ts'

/**
 * Measures whether comments and names are in plain words. Prints one line for each figure and exits with 1 when a figure exceeds its limit.
 * `--list` prints each finding with its place. Paths of files and folders restrict the measurement. Tests and fixtures are not measured.
 */
const { values, positionals } = parseArgs({ options: { list: { type: 'boolean', default: false } }, allowPositionals: true })
const paths = positionals.length > 0 ? positionals : ['src', 'client', 'console', 'demo-model', 'bench', 'proofs', 'scripts']
const maxWorst = 10

const total = createMeasurement()
for (const file of paths.flatMap(listSources)) measureText(file, readFileSync(file, 'utf8'), total)
const figures = computeFigures(total, findLongSubjects(process.cwd()))
for (const figure of figures) {
  console.log(formatFigure(figure))
  const lines = values.list ? formatFindings(figure) : isExceeded(figure) ? formatWorst(figure, maxWorst) : []
  for (const line of lines) console.log(line)
}
if (figures.some(isExceeded)) process.exitCode = 1

function listSources(source: string): string[] {
  if (!statSync(source).isDirectory()) return [source]
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  return files.filter(isMeasured).map((file) => path.join(source, file))
}

function isMeasured(file: string): boolean {
  const isTest = /\.test\.|\.bench\.|fixture|\.d\.ts$|(^|\/)(test|testing|generated|node_modules)\//.test(file)
  return /\.tsx?$/.test(file) && !isTest
}
