import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readWriteOrder } from './write-order.ts'

test('an order to write has a file name and content', () => {
  const orders = {
    'Write "hello there" to a file called notes.txt': ['notes.txt', 'hello there'],
    'Please save Buy milk and eggs in shopping.md': ['shopping.md', 'Buy milk and eggs'],
    'create a file notes.md with the text "# Notes"': ['notes.md', '# Notes'],
    "write 'a,b' to `out.csv`": ['out.csv', 'a,b'],
    'Write a file todo.txt: call Ada': ['todo.txt', 'call Ada'],
    'write "hi" to a file': ['note.txt', 'hi'],
  }
  for (const [request, [file_name, content]] of Object.entries(orders))
    assert.deepEqual(readWriteOrder(request), { file_name, content }, request)
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
    assert.equal(readWriteOrder(request), undefined, request)
  }
})
