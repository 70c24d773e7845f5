import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
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
