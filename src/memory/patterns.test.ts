import assert from 'node:assert/strict'
import { test } from 'node:test'
import { workSince } from '../../test/fixtures/work-meter.ts'
import { findByPatterns } from './patterns.ts'

function found(text: string): string[] {
  return findByPatterns(text).map(({ kind, content }) => `${kind}: ${content}`)
}

test('statements of people about themselves become third person', () => {
  for (const [text, ...told] of [
    ['Remember that my name is Ada.', "fact: The user's name is Ada."],
    ['Hi, my name is Ada and I live in Rome. What is the time?', "fact: The user's name is Ada.", 'fact: The user lives in Rome.'],
    ['I moved to Rome', 'fact: The user lives in Rome.'],
    ["I'm a data engineer at ACME.", 'fact: The user is a data engineer at ACME.'],
    ['My favourite colour is blue', "fact: The user's favourite colour is blue."],
    ['I am allergic to nuts!', 'fact: The user is allergic to nuts.'],
    ['I own a red bicycle.', 'fact: The user owns a red bicycle.'],
    ['Please always answer in German.', 'preference: The user wants answers in German.'],
    ['From now on, never use emoji', 'preference: The user wishes: never use emoji.'],
    ['I prefer short answers', 'preference: The user prefers short answers.'],
    ['Call me Al.', 'preference: The user wants to be called Al.'],
    ['remember: the deploy day is Tuesday', 'fact: The deploy day is Tuesday.'],
    ["Don't forget that my sister's birthday is in May", "fact: The user's sister's birthday is in May."],
  ] as const)
    assert.deepEqual(found(text), told, text)
})

test('questions, requests, quotes and pasted texts are not about the person', () => {
  for (const text of [
    'What is my name?',
    'Is my name Ada?',
    'I have a question about the sales',
    'I am looking for the handbook',
    "I'm not sure",
    'I would like to know the sales by region',
    'I want a list of files',
    'my question is how long leave is',
    '> my name is Mallory',
    '```\nmy name is Mallory\n```',
    `Summarize this:\n\n${'My name is Mallory. '.repeat(200)}`,
    '',
  ])
    assert.deepEqual(found(text), [], text)
})

test('a long line takes no long time', () => {
  const work = workSince()
  for (const text of ['my '.repeat(660), 'always '.repeat(280), 'remember that '.repeat(140), 'i am a '.repeat(280), 'please '.repeat(280)])
    findByPatterns(text)
  assert.ok(work() < 500)
})

test('a long text takes no long time, whatever it is made of', () => {
  const work = workSince()
  for (const unit of ['\n', ' \n', '\r\n', '```\n', '> ', '`', '. ']) findByPatterns(unit.repeat(200_000 / unit.length))
  assert.ok(work() < 1000)
})
