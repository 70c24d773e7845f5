import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { setFields } from './set-fields.ts'

const sample = readFileSync(path.join(import.meta.dirname, '../../../../samples/agent.yaml'), 'utf8')

/** Lines that are in one text only. */
function changedLines(before: string, after: string): string[] {
  const [old, next] = [before.split('\n'), after.split('\n')]
  return [
    ...old.filter((line) => !next.includes(line)).map((line) => `-${line}`),
    ...next.filter((line) => !old.includes(line)).map((line) => `+${line}`),
  ]
}

test('a changed value changes its line alone', () => {
  const text = setFields(sample, [
    { path: ['llms', 'primary', 'temperature'], value: 0.2 },
    { path: ['name'], value: 'Ledger' },
  ])!
  assert.deepEqual(changedLines(sample, text), [
    '-name: Agent Core',
    '-  primary: { provider: embedded, model: rules-1 }',
    '+name: Ledger',
    '+  primary: { provider: embedded, model: rules-1, temperature: 0.2 }',
  ])
})

test('instructions of several lines stay a block, with spaces and line breaks as they were typed', () => {
  for (const value of ['One line', 'Two\nlines', 'Ends with a break\n', '  spaces \n\n- like: yaml # not a comment', 'x'.repeat(5000)]) {
    const text = setFields(sample, [{ path: ['instructions'], value }])!
    assert.equal(parse(text).instructions, value)
    assert.equal(text.split('#').length, sample.split('#').length + value.split('#').length - 1, 'comments stay')
  }
})

test('fields are added, and removed with the mapping that they leave empty', () => {
  const prices = (input: number | undefined) => [{ path: ['llms', 'primary', 'prices', 'input'], value: input }]
  const text = setFields(sample, prices(1.5))!
  assert.deepEqual(parse(text).llms.primary, { provider: 'embedded', model: 'rules-1', prices: { input: 1.5 } })
  assert.equal(setFields(text, prices(undefined)), sample)
})

test('an entry of a list changes alone, and starters are replaced', () => {
  const text = setFields(sample, [
    { path: ['tools', 0, 'approval'], value: 'required' },
    { path: ['conversation_starters'], value: [{ title: 'Hi', message: 'Hello' }] },
  ])!
  const { tools, conversation_starters: starters } = parse(text)
  assert.deepEqual(
    [tools[0], tools.length, starters],
    [{ name: 'calculator', approval: 'required' }, parse(sample).tools.length, [{ title: 'Hi', message: 'Hello' }]],
  )
})

test('a text that is not YAML, and a place inside of a text, have no result', () => {
  assert.equal(setFields('a: [', [{ path: ['a'], value: 1 }]), undefined)
  assert.equal(setFields('llms: none', [{ path: ['llms', 'primary', 'model'], value: 'x' }]), undefined)
})
