import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { examples, exampleTest } from './example.ts'

const entries = await readdir(examples, { withFileTypes: true })
const folders = entries.filter((entry) => entry.isDirectory() && entry.name !== 'node_modules').map(({ name }) => name)
const read = (...names: string[]) => readFile(path.join(examples, ...names), 'utf8')

/** Lines of a page that fit on a screen. */
const maxLines = 60

test('each folder is in the table of the examples, and its README fits on a screen', async () => {
  const index = await read('README.md')
  assert.deepEqual([...index.matchAll(/^\| \[(.+?)\]/gm)].map(([, name]) => name!).toSorted(), folders.toSorted())
  for (const folder of folders) {
    const lines = (await read(folder, 'README.md')).split('\n').length
    assert.ok(lines <= maxLines, `${folder}/README.md has ${lines} lines`)
  }
})

test('packages have exact versions, and agent-core is the one of the checkout', async () => {
  for (const folder of folders.filter((name) => existsSync(path.join(examples, name, 'package.json')))) {
    const { dependencies = {}, devDependencies = {} } = JSON.parse(await read(folder, 'package.json'))
    const versions: [string, string][] = Object.entries({ ...dependencies, ...devDependencies })
    for (const [name, version] of versions) {
      assert.match(version, name === 'agent-core' ? /^file:\.\.\/\.\.$/ : /^\d+\.\d+\.\d+$/, `${folder}: ${name}`)
    }
  }
})

exampleTest('the types of the examples are right', async () => {
  const compiler = path.join(examples, '../node_modules/.bin/tsc')
  const { stdout } = await promisify(execFile)(compiler, ['-p', examples]).catch(({ stdout }: { stdout: string }) => ({ stdout }))
  assert.equal(stdout, '')
})

test('a script of curl without its arguments says which are missing, and sends nothing', async (t) => {
  let requests = 0
  const server = createServer((_, response) => response.end(String(requests++)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const env = { ...process.env, AGENT_CORE_KEY: 'k', AGENT_CORE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
  const calls = [
    ['async.sh', "Missing arguments: async.sh ID 'QUESTION'\n", 'order-17'],
    ['chat.sh', "Missing arguments: chat.sh 'QUESTION'\n"],
    ['stream.sh', "Missing arguments: stream.sh 'QUESTION'\n"],
    ['resume.sh', 'Missing arguments: resume.sh EVENT_ID\n'],
  ] as const
  for (const [script, stderr, ...args] of calls)
    await assert.rejects(promisify(execFile)(path.join(examples, 'curl', script), args, { env }), { code: 2, stdout: '', stderr })
  assert.equal(requests, 0)
})
