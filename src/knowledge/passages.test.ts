import assert from 'node:assert/strict'
import { test } from 'node:test'
import { workSince } from '../../test/fixtures/work-meter.ts'
import { maxPassageCharacters, toDocumentText, toPassages } from './passages.ts'

test('passages are bounded, lose nothing and keep their heading and place', () => {
  const sentence = 'The quick brown fox jumps over the lazy dog. '
  const texts = ['short', `${sentence.repeat(10)}\n\n`.repeat(9), sentence.repeat(100), 'x'.repeat(5000), '😀'.repeat(3000), ' \n ']
  for (const text of texts) {
    const passages = toPassages([{ heading: 'H', text, start: 7, page: 2 }])
    for (const passage of passages)
      assert.equal(
        text
          .slice(passage.start - 7)
          .slice(0, passage.text.length)
          .toWellFormed(),
        passage.text,
      )
    assert.ok(passages.every((passage) => passage.page === 2))
    assert.ok(
      passages.every(
        (passage) => passage.heading === 'H' && passage.text.length <= maxPassageCharacters && (passage.text !== '' || text.trim() === ''),
      ),
    )
    const letters = (whole: string) => whole.replace(/\s+/g, '').length
    assert.equal(letters(passages.map((passage) => passage.text).join('')), letters(text))
  }
  assert.ok(toPassages([{ heading: '', text: texts[1] as string, start: 0 }]).every(({ text }) => text.endsWith('dog.')))
})

test('cutting takes linear time, whatever white space a text has', () => {
  const work = workSince()
  for (const gap of ['\n', ' ', '\n ', '. ']) {
    const passages = toPassages([{ heading: '', text: `first${gap.repeat(100_000)}last`, start: 0 }])
    assert.match(passages.at(-1)?.text ?? '', /last$/)
  }
  assert.ok(work() < 1_000)
})

test('a heading without a text is a passage, unless the headings of the next section contain it', () => {
  const headings = ['A', 'A > B', 'A > C', 'D', 'DE']
  const sections = headings.map((heading) => ({ heading, text: heading === 'A > B' ? 'Text.' : '', start: 3, page: 1 }))
  const passages = toPassages(sections)
  assert.deepEqual(
    passages.map(({ heading, text, start, page }) => [heading, text, start, page]),
    [
      ['A > B', 'Text.', 3, 1],
      ['A > C', '', 3, 1],
      ['D', '', 3, 1],
      ['DE', '', 3, 1],
    ],
  )
  assert.equal(toDocumentText(passages), 'A > B\n\nText.\n\nA > C\n\nD\n\nDE')
  assert.deepEqual(toPassages([{ heading: '', text: '', start: 0 }]), [])
})
