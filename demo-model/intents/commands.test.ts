import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ToolOffer } from '../../src/agent/model.ts'
import { respond } from '../respond.ts'
import { readSaveOrder } from './commands.ts'

const text = { type: 'string' }
const writeFile: ToolOffer = {
  name: 'write_file',
  description: 'Makes a text file.',
  effect: 'read',
  schema: { type: 'object', properties: { file_name: text, content: text }, required: ['file_name', 'content'] },
}

/** What is done for a request after an answer. */
function after(answer: string, request: string): string {
  const messages = [
    { role: 'user' as const, text: 'Sales by region' },
    { role: 'assistant' as const, text: answer, toolCalls: [] },
    { role: 'user' as const, text: request },
  ]
  const step = respond('rules-1', { system: '', messages, tools: [writeFile] })
  return step.calls[0] ? JSON.parse(step.calls[0].arguments).content : step.text
}

test('"that" in an order to write is the table of the answer before, with plain numbers', () => {
  const table = '2 regions:\n\n| Region | Total amount | Note |\n|---|---:|---|\n| North | 101,644.29 | – |\n| East, far | 12 | – |\n'
  assert.equal(after(table, 'Save that as a CSV file'), 'Region,Total amount,Note\nNorth,101644.29,\n"East, far",12,\n')
  assert.equal(after('The total is **12**.', 'Save it as sum.md'), 'The total is **12**.')
})

test('"that" without a table is asked about', () => {
  assert.equal(after('The total is **12**.', 'Save that as a CSV file'), 'What should `table.csv` hold?')
})

test('an order to write has a file name and content', () => {
  const orders = {
    'Write "hello there" to a file called notes.txt': ['notes.txt', 'hello there'],
    'Please save Buy milk and eggs in shopping.md': ['shopping.md', 'Buy milk and eggs'],
    'create a file notes.md with the text "# Notes"': ['notes.md', '# Notes'],
    "write 'a,b' to `out.csv`": ['out.csv', 'a,b'],
    'Write a file todo.txt: call Ada': ['todo.txt', 'call Ada'],
    'write "hi" to a file': ['note.txt', 'hi'],
    'Make a CSV file with the sales by region': ['table.csv', 'the sales by region'],
    'Save the list of customers as a csv, please': ['table.csv', 'the list of customers'],
    'Create report.md with the top 3 products': ['report.md', 'the top 3 products'],
  }
  for (const [request, [fileName, content]] of Object.entries(orders)) {
    const order = readSaveOrder(request)
    assert.deepEqual({ fileName: order?.fileName, content: order?.content }, { fileName, content }, request)
  }
})

test('a question about a file, or another kind of order, is no order to write', () => {
  for (const request of [
    'What is in handbook/leave.md?',
    'Open data/sales.csv',
    'Make a table of sales in Europe',
    'Write a poem',
    'Put it in writing',
    'Create a file notes.txt',
    'Who wrote notes.txt?',
  ]) {
    assert.equal(readSaveOrder(request), undefined, request)
  }
})
