import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { createFolder, runIn } from './terminal-fixture.ts'

const main = fileURLToPath(new URL('../main.ts', import.meta.url))

/** The program started as a user starts it. */
function runProgram(cwd: string, args: string[], input = ''): Promise<{ code: number | null; out: string; err: string }> {
  return new Promise((resolve) => {
    const options = { cwd, env: { PATH: process.env['PATH'], PORT: '0' } }
    const child = execFile(process.execPath, [main, ...args], options, (_, out, err) => resolve({ code: child.exitCode, out, err }))
    child.stdin?.end(input)
  })
}

test('in an empty folder the program answers with its embedded model, then lists the created key', async (t) => {
  const folder = await createFolder(t)
  const { code, out, err } = await runProgram(folder, ['chat'], 'What is 17% of 2,340?\n')
  assert.equal(code, 0)
  assert.match(out, /^.*397\.8.*\n$/)
  assert.match(err, /^Created .+\/agent\.yaml and .+\/files\n✓ calculator \{.+\} \d+\.\d\d s\n$/)
  const keys = await runProgram(folder, ['keys', 'list'])
  assert.deepEqual({ code: keys.code, err: keys.err }, { code: 0, err: '' })
  assert.match(keys.out, / admin {2}admin .+ active\n$/)
})

test('each command has help, and an unknown command exits with status 2', async (t) => {
  const folder = await createFolder(t)
  const commands = [['serve'], ['chat'], ['keys'], ['keys', 'create'], ['keys', 'list'], ['keys', 'revoke'], ['config'], ['doctor']]
  const helped = await Promise.all(commands.map((command) => runIn(folder, [...command, '--help'])))
  helped.forEach(({ code, out, err }, index) => {
    assert.deepEqual({ code, err }, { code: 0, err: '' })
    assert.match(out, new RegExp(`^Usage: agent-core ${commands[index]?.join(' ')} `))
  })
  assert.equal((await runIn(folder, ['sing'])).code, 2)
})

test('a reader that closes the output early, as `head` does, is no fault', async (t) => {
  const folder = await createFolder(t)
  const child = spawn(process.execPath, [main, '--help'], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  assert.deepEqual({ code, errors }, { code: 0, errors: '' })
})
