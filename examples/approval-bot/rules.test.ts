import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judge } from './rules.ts'

const file = (file_name: string, content = 'Back at 3') => ({ tool: 'write_file', tool_input: { file_name, content } })

test('text files are approved, secrets rejected, everything else is left to a person', () => {
  assert.equal(judge(file('note.txt'))?.decision, 'approve')
  assert.equal(judge(file('note.txt', 'The password is 1234'))?.decision, 'reject')
  assert.equal(judge(file('page.html')), undefined)
  assert.equal(judge({ tool: 'pay', tool_input: {} }), undefined)
})
