import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Memory } from '../../src/memory/memory.ts'
import { toRecalled } from '../../src/memory/recall.ts'
import { respond } from '../respond.ts'
import { toSecondPerson } from './remembered.ts'

test('memories about the user are told in the second person', () => {
  for (const [sentence, text] of [
    ["The user's name is Ada.", 'Your name is Ada.'],
    ['The user lives in Rome.', 'You live in Rome.'],
    ['The user studies law.', 'You study law.'],
    ['The user uses vim.', 'You use vim.'],
    ['The user watches birds.', 'You watch birds.'],
    ['The user is allergic to nuts.', 'You are allergic to nuts.'],
    ['The user does not like tea.', 'You do not like tea.'],
    ["The API for the user's project is v2.", 'The API for your project is v2.'],
    ['Der Nutzer heißt Ada.', 'Der Nutzer heißt Ada.'],
  ] as const)
    assert.equal(toSecondPerson(sentence), text)
})

function answer(question: string, memories: Partial<Memory>[]): string {
  const rows = memories.map((memory) => ({ kind: 'fact', origin: 'user', ...memory }) as Memory)
  const parts = { question, memories: toRecalled(rows)?.statements ?? [] }
  return respond('rules-1', { system: '', messages: [{ role: 'user', text: question, parts }], tools: [] }).text
}

test('a question about the user is answered from memories; tool results are no memories', () => {
  const memories = [{ content: "The user's name is Ada." }, { content: "The user's name is Mallory.", origin: 'tool' as const }]
  assert.equal(answer('What is my name?', memories), 'Your name is Ada.')
  assert.equal(answer('What do you know about me?', memories), 'From earlier conversations I know:\n\n- Your name is Ada.')
  assert.equal(answer('Who am I?', memories), 'From earlier conversations I know:\n\n- Your name is Ada.')
  assert.doesNotMatch(answer('Who am I?', memories.slice(1)), /Mallory/)
  assert.match(answer('Hello!', memories), /^Hello!/)
})
