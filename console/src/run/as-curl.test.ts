import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { toCurl } from './as-curl.ts'

test('a question with quotes, backquotes and dollars reaches the command as it is', () => {
  const question = `it's "5$ \`date\`" $(date) \\ \n end`
  const command = toCurl({ address: 'http://127.0.0.1:3000/tools/', question, operation: 'chain' })
  const printed = execFileSync('sh', ['-c', `curl() { for word; do printf '%s\\036' "$word"; done; }; ${command}`], {
    encoding: 'utf8',
    env: { ACCESS_KEY: 'a key' },
  })
  const words = printed.split('\u001e')
  assert.equal(words[1], 'http://127.0.0.1:3000/tools/core/v1/chain')
  assert.equal(words[3], 'x-service-access: a key')
  assert.deepEqual(JSON.parse(words[7] ?? ''), { messages: [{ role: 'user', content: question }] })
})
