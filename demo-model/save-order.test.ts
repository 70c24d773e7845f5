import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSaveOrder } from './save-order.ts'

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
