import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { hashModule } from './module-hash.ts'

const files = {
  'tools/main.ts': `import { readFile } from 'node:fs/promises'
import { a,
  b } from "./lib/a.ts"
import '../shared/side-effect.mjs?v=2'
export * from './lib/again.ts'
const later = () => import(\`./lib/later.ts\`)
const text = require('./lib/data')
import thing from 'thing'
`,
  'tools/lib/a.ts': "import data from './a.json' with { type: 'json' }\nexport const a = data, b = 1\n",
  'tools/lib/a.json': '1',
  'tools/lib/again.ts': "export { a } from './a.ts'\nimport '../main.ts'\n",
  'tools/lib/later.ts': '1',
  'tools/lib/data.js': '1',
  'tools/other.ts': '1',
  'shared/side-effect.mjs': '1',
  'node_modules/thing/index.js': '1',
  'node_modules/thing/package.json': '{"name": "thing", "main": "index.js"}',
}

async function projectOf(t: TestContext): Promise<(name: string, text: string) => Promise<string>> {
  const folder = await mkdtemp(path.join(tmpdir(), 'agent-core-modules-'))
  t.after(() => rm(folder, { recursive: true }))
  const write = async (name: string, text: string) => {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true })
    await writeFile(path.join(folder, name), text)
    return hashModule(folder, 'tools/main.ts')
  }
  for (const [name, text] of Object.entries(files)) await write(name, text)
  return write
}

test('the hash of a module covers its file and all local files that it imports by a literal name, however deep', async (t) => {
  const write = await projectOf(t)
  const before = await write('tools/main.ts', files['tools/main.ts'])
  assert.match(before, /^[0-9a-f]{64}$/)
  const imported = Object.entries(files).filter(([name]) => !/other|node_modules/.test(name))
  assert.equal(imported.length, 7)
  for (const [name, text] of imported) {
    assert.notEqual(await write(name, `${text}\n`), before, name)
    assert.equal(await write(name, text), before, name)
  }
})

test('files that are not imported, and packages, leave the hash as it is', async (t) => {
  const write = await projectOf(t)
  const before = await write('tools/other.ts', '1')
  assert.equal(await write('tools/other.ts', '2'), before)
  assert.equal(await write('node_modules/thing/index.js', '2'), before)
})

test('an import that is missing counts once its file appears', async (t) => {
  const write = await projectOf(t)
  const before = await write('tools/main.ts', "import './lib/new.ts'\n")
  assert.notEqual(await write('tools/lib/new.ts', '1'), before)
})

test('a module without a file has a hash, and so has a file that is longer than 5 MB', async (t) => {
  const write = await projectOf(t)
  const long = await write('tools/main.ts', '//'.repeat(3_000_000))
  assert.notEqual(await write('tools/main.ts', '//'.repeat(3_000_001)), long)
  assert.match(await hashModule(tmpdir(), 'no/such/module.ts'), /^[0-9a-f]{64}$/)
})
