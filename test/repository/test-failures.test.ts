import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'

const cwd = fileURLToPath(new URL('../..', import.meta.url))

/** Runs a file of tests as the lanes do, in the process of the test runner, and resolves with the exit code. */
function runTests(file: string): Promise<number> {
  const { NODE_TEST_CONTEXT: _outer, ...env } = process.env
  return new Promise((resolve) => {
    const child = execFile(process.execPath, ['--test', '--test-isolation=none', file], { cwd, env }, () => resolve(child.exitCode ?? -1))
  })
}

test('a failed test makes a lane fail, whatever the fixtures do when the process ends', async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-core-failures-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const tests = await Promise.all(
    globSync('test/{contract,doors,console}/*.test.ts', { cwd }).map((file) => readFile(path.join(cwd, file), 'utf8')),
  )
  const modules = new Set(tests.flatMap((text) => [...text.matchAll(/ from '..\/(fixtures\/[^']+)'/g)].map(([, file]) => `test/${file}`)))
  assert.ok(modules.has('test/fixtures/postgres-server.ts'))
  const imports = [...modules].map((file) => `import ${JSON.stringify(pathToFileURL(path.join(cwd, file)).href)}\n`).join('')
  for (const [code, body] of ['', 'throw new Error()'].entries()) {
    const file = path.join(folder, `${code}.test.mjs`)
    await writeFile(file, `import { test } from 'node:test'\n${imports}test('', () => { ${body} })\n`)
    assert.equal(await runTests(file), code, body)
  }
})
