import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMarkdownStream, withoutControls } from './markdown-stream.ts'

const styles: Record<string, string> = { '\u001B[1m': '<b>', '\u001B[22m': '</b>', '\u001B[36m': '<c>', '\u001B[39m': '</c>' }

/** Output after each piece, with styles as tags. */
function pieces(...texts: string[]): string[] {
  const stream = createMarkdownStream()
  const pieces = [...texts.map((text) => stream.push(text)), stream.end()]
  return pieces.map((text) => Object.entries(styles).reduce((text, [code, tag]) => text.replaceAll(code, tag), text))
}

test('text is shown as it arrives; possible bold and code spans wait for their end', () => {
  assert.deepEqual(pieces('One ', 'is **bo', 'ld** and', ' `co', 'de`.'), ['One ', 'is ', '<b>bold</b> and', ' ', '<c>code</c>.', ''])
  assert.deepEqual(pieces('a *', '*b*', '* c'), ['a ', '', '<b>b</b> c', ''])
})

test('marks without a closing mark on the same line stay unchanged', () => {
  assert.deepEqual(pieces('2 ** 3 ** 4 and `\n', 'next'), ['2 ** 3 ** 4 and `\n', 'next', ''])
  assert.deepEqual(pieces('* item of **a list'), ['* item of ', '**a list'])
})

test('headings are bold without their marks, wherever the text is cut', () => {
  assert.deepEqual(pieces('#', '# Hea', 'ding\ntext #'), ['', '<b>Hea</b>', '<b>ding</b>\ntext #', ''])
  assert.deepEqual(pieces('#hash\n'), ['#hash\n', ''])
})

test('tables and blocks of code keep their text', () => {
  const table = '| **a** | `b` |\n|---|---|\n'
  assert.deepEqual(pieces(table), [table, ''])
  assert.equal(pieces('```ts\n# **x**\n', '``', '`\n**y**\n').join(''), '<c>```ts</c>\n<c># **x**</c>\n<c>```</c>\n<b>y</b>\n')
})

test('the output does not depend on where a text is cut', () => {
  const text = '# Title\n\nSome **bold** and `code`, 2 * 3.\n\n```\nx = `1`\n```\n- **end'
  const whole = pieces(text).join('')
  for (let at = 1; at < text.length; at++) {
    const output = pieces(text.slice(0, at), text.slice(at)).join('')
    // A style may be closed and opened again at the cut.
    assert.equal(output.replaceAll('</b><b>', '').replaceAll('</c><c>', ''), whole, `cut at ${at}`)
  }
})

test('control characters do not reach the terminal', () => {
  assert.equal(withoutControls('a\u001B]0;title\u0007b\tc\nd\r\u009Be'), 'a]0;titleb\tc\nde')
})
