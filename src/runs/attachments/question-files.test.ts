import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maxMediaBytes, selectFiles, toCheckedFile, whyUnread } from './question-files.ts'

const sized = (name: string, size: number, { text, isEarlier = false }: { text?: string; isEarlier?: boolean } = {}) => {
  const document = text === undefined ? undefined : { name, text, sections: [] }
  const mediaType = text === undefined ? 'audio/mpeg' : 'application/pdf'
  const checked = toCheckedFile({ name, mediaType, bytes: Buffer.alloc(0), label: name, isEarlier, document })
  return { ...checked, file: { ...checked.file, size } }
}
const names = (files: readonly { file: { name: string } }[]) => files.map(({ file }) => file.name)

test('audio comes before documents, and documents beyond the limit of bytes go as text', () => {
  const files = [sized('a.pdf', 15_000_000, { text: 'a' }), sized('b.mp3', 10_000_000), sized('c.pdf', 9_000_000, { text: 'c' })]
  const { shown, asText, refused } = selectFiles(files, 0)
  assert.deepEqual([names(shown), names(asText), refused], [['b.mp3', 'c.pdf'], ['a.pdf'], undefined])
  const beside = selectFiles(files, 5_000_000)
  assert.deepEqual([names(beside.shown), names(beside.asText)], [['b.mp3'], ['a.pdf', 'c.pdf']])
})

test('a file of the question without a text is refused beyond the limits, an earlier one is left out', () => {
  const large = sized('a.mp3', maxMediaBytes)
  assert.equal(selectFiles([large, sized('b.mp3', 1)], 0).refused?.file.name, 'b.mp3')
  assert.deepEqual(selectFiles([sized('b.mp3', 1, { isEarlier: true }), large], 0), { shown: [large], asText: [], refused: undefined })
  const six = Array.from({ length: 6 }, (_, at) => sized(`${at}.mp3`, 1))
  assert.equal(selectFiles(six, 0).refused?.file.name, '5.mp3')
})

test('of earlier files the newest are shown, behind those of the question', () => {
  const earlier = [1, 2, 3, 4].map((n) => sized(`${n}.pdf`, 1, { text: 'x', isEarlier: true }))
  const own = [5, 6].map((n) => sized(`${n}.pdf`, 1, { text: 'x' }))
  const { shown, asText } = selectFiles([...earlier, ...own], 0)
  assert.deepEqual([names(shown), names(asText)], [['2.pdf', '3.pdf', '4.pdf', '5.pdf', '6.pdf'], ['1.pdf']])
})

test('texts beside the files are bounded, one by one and together', () => {
  assert.equal(sized('a.pdf', 1, { text: 'x'.repeat(1_000_001) }).file.document, undefined)
  const texts = selectFiles([sized('a.pdf', 1, { text: 'x'.repeat(600_000) }), sized('b.pdf', 1, { text: 'x'.repeat(600_000) })], 0)
  assert.deepEqual(
    texts.shown.map(({ file }) => file.document?.text.length),
    [600_000, undefined],
  )
})

test('tokens are estimated by text and pages, or else by bytes', () => {
  const tokensOf = (mediaType: string, bytes: number, characters?: number, pages?: number) => {
    const document = characters === undefined ? undefined : { name: 'a', text: 'x'.repeat(characters), sections: [] }
    return toCheckedFile({ name: 'a', mediaType, bytes: Buffer.alloc(bytes), label: 'a', document, pages }).file.tokens
  }
  assert.equal(tokensOf('application/pdf', 1000, 4000, 2), 1600)
  assert.equal(tokensOf('application/pdf', 150_000), 1500)
  assert.equal(tokensOf('audio/mpeg', 16_000), 32)
})

test('a refusal names what the model cannot do', () => {
  const model = { name: 'm-1' }
  assert.equal(whyUnread(model, 'audio/ogg'), 'The model m-1 cannot hear audio (audio/ogg)')
  assert.equal(whyUnread(model, 'video/mp4'), 'The model m-1 cannot watch videos (video/mp4)')
  assert.equal(whyUnread(model, 'application/pdf'), 'The model m-1 cannot read documents (application/pdf)')
})
