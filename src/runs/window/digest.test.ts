import { test } from 'node:test'
import assert from 'node:assert/strict'
import { digest } from './digest.ts'

const human = (content: string) => ({ role: 'human' as const, content })
const ai = (content: string) => ({ role: 'ai' as const, content })

test('a digest has the first sentence of each question and each answer', () => {
  const text = digest('- User: Hello.', [human('My dog is\n Rex. He is 3.5 years old!'), ai('Noted. More.'), human('東京は？はい')], 1000)
  assert.equal(text, '- User: Hello.\n- User: My dog is Rex.\n- Assistant: Noted.\n- User: 東京は？はい')
})

test('a sentence without an end is cut', () => {
  assert.equal(digest('', [human('x'.repeat(10_000))], 1000), `- User: ${'x'.repeat(239)}…`)
})

test('a digest over the limit drops answers first, then questions, oldest first, and notes the omission once', () => {
  let text = ''
  for (let turn = 1; turn <= 100; turn++) {
    text = digest(text, [human(turn === 1 ? 'My name is Ann.' : `Question ${turn}?`), ai(`Answer ${turn}.`)], 200)
    assert.ok(text.length <= 200)
  }
  assert.match(text, /^\(Some of it is left out\.\)\n- User: My name is Ann\.\n- User: Question \d+\?\n/)
  assert.match(text, /\n- User: Question 100\?$/)
  assert.equal(text.match(/left out/g)?.length, 1)
})

test('the summary of a model is kept longer than answers and questions', () => {
  const text = digest('Ann lives in Oslo.', [human('I am 30.'), ai('Noted.'), human('Why?'), ai('So.')], 70)
  assert.equal(text, '(Some of it is left out.)\nAnn lives in Oslo.\n- User: I am 30.')
})

test('a single line over the limit is cut', () => {
  const text = digest('', [human('x'.repeat(500))], 100)
  assert.ok(text.length <= 100 && text.includes('- User: xxx'))
})
