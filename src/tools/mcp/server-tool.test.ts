import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { execPath } from 'node:process'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createCheckMaker } from './server-tool.ts'

test('an input whose check would never end is refused in time', () => {
  const check = createCheckMaker()({ type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } })
  assert.equal(check({ a: 'aaa' }), undefined)
  assert.match(check({ a: `${'a'.repeat(40)}b` }) ?? '', /could not be checked within 250 ms/)
})

test('a suspended process does not make valid inputs invalid', async () => {
  const code = `import { createCheckMaker } from ${JSON.stringify(new URL('./server-tool.ts', import.meta.url).href)}
const check = createCheckMaker()({ type: 'object', properties: { a: { type: 'string' } } })
process.stdout.write('ready')
const faults = []
for (const end = Date.now() + 3000; Date.now() < end; ) faults.push(check({ a: 'x' }))
process.stdout.write(JSON.stringify(faults.filter(Boolean)))`
  const child = spawn(execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  const ended = once(child, 'close')
  while (output === '') await wait(10)
  for (let stops = 0; stops < 6; stops++) {
    await wait(20)
    child.kill('SIGSTOP')
    await wait(400)
    child.kill('SIGCONT')
  }
  await ended
  assert.equal(output, 'ready[]')
})
