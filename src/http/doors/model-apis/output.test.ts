import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnswerFile } from '../../../artifacts/answer-files.ts'
import { fileFields, toFileText } from './output.ts'
import { toMessage } from './brought-chat.ts'
import { toTurn } from '../openai/messages.ts'

const fileOf = (name: string, url?: string) => ({ file_name: name, ...(url && { download_url: url }) }) as AnswerFile

test('links follow the text behind a blank line, each with its place in the whole text', () => {
  const { text, citations } = toFileText([fileOf('a.csv', 'http://s/1'), fileOf('b.csv', 'http://s/2')], 'Done.'.length)
  assert.equal(text, '\n\n- [a.csv](http://s/1)\n- [b.csv](http://s/2)')
  const whole = `Done.${text}`
  assert.deepEqual(
    citations.map(({ start_index: start, end_index: end }) => whole.slice(start, end)),
    ['[a.csv](http://s/1)', '[b.csv](http://s/2)'],
  )
})

test('links without a text before them begin at once, and files without a link are not written', () => {
  assert.deepEqual(toFileText([fileOf('a.csv')], 0), { text: '', citations: [] })
  assert.equal(toFileText([fileOf('a.csv'), fileOf('b.csv', 'http://s/2')], 0).text, '- [b.csv](http://s/2)')
  assert.deepEqual(fileFields([]), {})
})

test('a file name is no markup, and usual names stay as they are', () => {
  const labelOf = (name: string) => toFileText([fileOf(name, 'u')], 0).text.slice(3, -4)
  assert.equal(labelOf('](javascript:x) *b* `c`'), '\\](javascript:x) \\*b\\* \\`c\\`')
  assert.equal(labelOf('_a_ <b> &amp; ~c~ \\'), '\\_a\\_ \\<b\\> \\&amp; \\~c\\~ \\\\')
  for (const name of ['sales_2026-q1.csv', 'Umsätze (1).csv', 'a+b #1!.txt']) assert.equal(labelOf(name), name)
})

test('an earlier answer reaches the model without the links to its files', () => {
  const signed = 'https://a.example/core/v1/artifacts/f/1?name=a.csv&type=text%2Fcsv&expires=1&signature=s-_'
  const stored = 'http://s3:7070/b/k?response-content-disposition=x&X-Amz-Signature=0f&x-id=GetObject'
  const { text } = toFileText([fileOf('a.csv', signed), fileOf('b [1].csv', stored)], 'Done.'.length)
  const contents = [`Done.${text}`, [{ type: 'output_text', text: `See [here](https://a.example/?q=1).${text}` }]]
  const messages = contents.map((content) => ({ role: 'assistant' as const, content }))
  const question = { role: 'user' as const, content: `What is [this](${signed})?` }
  const turns = [...messages, question].map((message) => toTurn(message, ['messages']))
  assert.deepEqual(
    turns.map(toMessage).map(({ content }) => content),
    ['Done.\n\n- [a.csv]\n- [b \\[1\\].csv]', 'See [here](https://a.example/?q=1).\n\n- [a.csv]\n- [b \\[1\\].csv]', question.content],
  )
})
