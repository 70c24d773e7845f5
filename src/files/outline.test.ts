import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toDocument } from './document.ts'
import { readMarkdown } from './markdown.ts'
import { toOutline } from './context-text.ts'

test('the outline of a text has its headings with offsets for read_file, even if their words occur elsewhere', () => {
  const text = '# Two is more than One\n\nTwo, One and Two again.\n\n## One\n\nfirst\n\n### Deep\n\nmore\n\n## Two\n\nsecond'
  const lines = toOutline('a.md', readMarkdown(text), 1000).split('\n')
  assert.deepEqual(
    lines.map((line) => line.replace(/ \(.*/, '')),
    ['- Two is more than One', '  - One', '    - Deep', '  - Two'],
  )
  for (const line of lines) {
    const [, title = '', offset] = /- (.+) \(offset (\d+),/.exec(line) ?? []
    assert.ok(text.slice(Number(offset)).startsWith(title), line)
  }
})

test('the outline of a table has its columns and first rows, for each sheet of a workbook', () => {
  const rows = Array.from({ length: 50 }, (_, at) => `${at},${at * 2}`)
  const csv = readMarkdown(['a,b', ...rows].join('\r\n'))
  assert.equal(toOutline('a.csv', csv, 1000), 'a,b\n0,0\n1,2\n2,4\n3,6\n4,8\n(51 lines in all)')
  const sheets = toDocument(
    [
      { heading: 'North', text: 'x | y' },
      { heading: 'South', text: 'u | v' },
    ],
    {},
  )
  assert.equal(toOutline('a.xlsx', sheets, 1000), 'North\nx | y\n\nSouth\nu | v')
})

test('the outline of a text without headings is its beginning, cut to the room', () => {
  const plain = readMarkdown('word '.repeat(100))
  assert.equal(toOutline('a.txt', plain, 12), 'word word …')
  for (const room of [0, 1, 2, 3]) assert.ok(toOutline('a.txt', plain, room).length <= room)
  assert.equal(toOutline('a.txt', readMarkdown('ab\u{1F600}cdefgh'), 5), 'ab …')
})
