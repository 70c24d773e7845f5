import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ToolOffer } from '../../src/agent/model.ts'
import { respond } from '../respond.ts'

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
