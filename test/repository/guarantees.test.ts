import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

const root = path.join(import.meta.dirname, '../..')

/** A part of the page: rows that refer to numbered tests, and the list of these tests. */
interface Section {
  heading: string
  /** Numbers in the last column of each row. */
  references: number[][]
  tests: { number: number; file: string; title: string }[]
}

function readSections(): Section[] {
  const page = readFileSync(path.join(root, 'docs/guarantees.md'), 'utf8')
  const parts = page.split(/^## /m).slice(1)
  return parts.map(toSection).filter(({ references }) => references.length > 0)
}

function toSection(text: string): Section {
  const rows = text.split('\n').filter((line) => /^\|.*\d \|$/.test(line))
  const tests = [...text.matchAll(/^(\d+)\. `([^`]+)`: (.+)$/gm)]
  return {
    heading: text.slice(0, text.indexOf('\n')),
    references: rows.map((row) => row.split('|').at(-2)!.split(',').map(Number)),
    tests: tests.map(([, number, file, title]) => ({ number: Number(number), file: file!, title: title! })),
  }
}

/** Matches a title; a title in the source may have placeholders. */
function hasTest(file: string, title: string): boolean {
  const source = readFileSync(path.join(root, file), 'utf8')
  const titles = [...source.matchAll(/\btest\(\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`([^`]*)`)/g)]
  return titles.some(([, single, double, template]) => {
    if (template === undefined) return (single ?? double)!.replace(/\\(.)/g, '$1') === title
    const pattern = template.split(/\$\{[^}]*\}/).map((part) => RegExp.escape(part))
    return new RegExp(`^${pattern.join('.+')}$`).test(title)
  })
}

test('Guarantees: every row names its tests, and every named test exists', () => {
  const sections = readSections()
  assert.ok(sections.length >= 14)
  for (const { heading, references, tests } of sections) {
    const numbers = tests.map(({ number }) => number)
    assert.deepEqual(
      numbers,
      numbers.map((_, index) => index + 1),
      `${heading}: the tests are numbered from 1`,
    )
    assert.deepEqual(
      [...new Set(references.flat())].toSorted((a, b) => a - b),
      numbers,
      `${heading}: the rows refer to the tests, each at least once`,
    )
    for (const { file, title } of tests) {
      assert.ok(existsSync(path.join(root, file)), `${file} exists`)
      assert.ok(hasTest(file, title), `${file} has the test "${title}"`)
    }
  }
})

test('Guarantees: every row of a fault has a reference', () => {
  const page = readFileSync(path.join(root, 'docs/guarantees.md'), 'utf8')
  const rows = page.split('\n').filter((line) => line.startsWith('| ') && line.split('|').length === 7)
  const unproven = rows.filter((row) => !/\d \|$/.test(row) && !row.includes('| Tests |'))
  assert.deepEqual(unproven, [])
})
