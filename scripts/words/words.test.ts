import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { parseSubjects } from './commit-subjects.ts'
import { computeFigures, formatFigure, formatFindings, formatWorst, isExceeded } from './figures.ts'
import { createMeasurement, measureText } from './measure.ts'

function measure(text: string) {
  const total = createMeasurement()
  measureText('example.ts', text, total)
  return total
}

test('a comment that opens with a pronoun or a fronted clause is found with its place', () => {
  const { comments, openings } = measure(`
/** Who asks is told. */
const a = 1
/**
 * Of all runs the last.
 */
const b = 2
// Runs end here.
const c = 3 // Whose run this is.
`)
  assert.equal(comments, 4)
  assert.deepEqual(
    openings.map(({ file, line, text }) => `${file}:${line}: ${text}`),
    ['example.ts:2: Who asks is told.', 'example.ts:4: Of all runs the last.', 'example.ts:9: Whose run this is.'],
  )
})

test('pronouns are counted per word, and comments with many of them are listed', () => {
  const { pronouns, commentWords, pronounComments } = measure(`
/** The queue of a session holds the runs that wait for the session's lock. */
/** It is one of those that they have. */
`)
  assert.equal(pronouns, 6)
  assert.equal(commentWords, 22)
  assert.deepEqual(
    pronounComments.map(({ line, text }) => `${line}: ${text}`),
    ['3: 5 in 8 words: It is one of those that they have.'],
  )
})

test('line comments on consecutive lines are one comment', () => {
  const { comments, openings } = measure(
    '// The store keeps the run until\n// Those who wait have read the run.\nconst a = 1\n\n// Another comment.\n',
  )
  assert.equal(comments, 2)
  assert.deepEqual(openings, [])
})

test('directives, empty comments and texts that look like comments are not measured', () => {
  const { comments } = measure(
    '/** */\n// oxlint-disable-next-line no-console\nconst a = `\n// Who asks\n/** What else */`\nconst b = "// It"\n',
  )
  assert.equal(comments, 0)
})

test('declared names are found in variables, patterns, parameters, functions, types and members', () => {
  const { names, functionWordNames } = measure(`
const { one, b: [known, ...left], run: { told } = {} } = load()
function made(given: string, asked = 1, ...kept: string[]) { try { a() } catch (what) {} }
interface A { found: string; said(of: string): void; [by: string]: unknown; run: (who: string) => void }
class B { own = 1; static taken() {} get held() { return 1 } }
const c = { seen() {}, shown: 1 }
`)
  const found = functionWordNames.map(({ text }) => text).toSorted()
  const expected = 'asked by found given kept known left made of one own said seen taken told what who'
  assert.deepEqual(found, expected.split(' '))
  assert.equal(names, found.length + ['run', 'c'].length)
})

test('names that are used but not declared are not counted', () => {
  const { functionWordNames } = measure('a.left = { told: 1, one };\n({ known, own: b.kept } = c)\nimport { made } from "./made.ts"\n')
  assert.deepEqual(functionWordNames, [])
})

test('spreads of object literals are found, other spreads are not', () => {
  const { spreads } = measure('call({ ...{ a,\n  b }, ...c, ...(d ? { e } : {}) }, ...[f])')
  assert.deepEqual(
    spreads.map(({ line, text }) => `${line}: ${text}`),
    ['1: ...{ a, b }'],
  )
})

test('a text that cannot be parsed is refused with its file', () => {
  assert.throws(() => measure('const = 1'), /SyntaxError: example\.ts cannot be parsed/)
})

test('a figure over its limit is exceeded and shows the most frequent names first', () => {
  const figures = computeFigures(
    measure('function add(one: number, told: number) {}\nfunction sum(told: number[]) {}'),
    parseSubjects('1a2b3c4 words: short\n'),
  )
  const names = figures.find(({ title }) => title.includes('names'))!
  assert.equal(names.value, 60)
  assert.deepEqual(
    figures.filter(isExceeded).map(({ title }) => title),
    ['declared names that are function words', 'commit subjects over 72 characters'],
  )
  assert.match(formatFigure(names), /60 % +limit 1 % {2}EXCEEDED/)
  assert.deepEqual(formatWorst(names, 1), ['  example.ts:1: told (2x)', '  3 findings in all: npm run words -- --list'])
  assert.deepEqual(formatFindings(names), ['  example.ts:1: one', '  example.ts:1: told', '  example.ts:2: told'])
})

test('commit subjects are skipped where there is no git history', () => {
  const subjects = computeFigures(createMeasurement(), undefined).at(-1)!
  assert.equal(isExceeded(subjects), false)
  assert.match(formatFigure(subjects), /skipped: no git history/)
})

test('the length of a commit subject is counted in characters', () => {
  const [subject] = parseSubjects('1a2b3c4 wörter: ä\n')
  assert.deepEqual(subject, { file: '1a2b3c4', line: 0, text: 'wörter: ä', weight: 9 })
})

test('the command exits with 1 and names the place, and with 0 where every figure is within its limit', (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'words-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const check = () => spawnSync(process.execPath, [path.join(import.meta.dirname, 'run.ts'), '.'], { cwd: folder, encoding: 'utf8' })
  writeFileSync(path.join(folder, 'a.test.ts'), 'const told = 1')
  writeFileSync(
    path.join(folder, 'a.ts'),
    '/** Adds two numbers. */\nexport const sum = (first: number, second: number) => first + second\n',
  )
  assert.equal(check().status, 0)
  writeFileSync(path.join(folder, 'b.ts'), '\nexport const told = 1\n')
  const { status, stdout } = check()
  assert.equal(status, 1)
  assert.match(stdout, /^ {2}b\.ts:2: told \(1x\)$/m)
})
