import { after, test } from 'node:test'
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { JsonObject } from '../../agent/messages.ts'
import type { ToolContext } from '../../agent/tool.ts'
import { openFilesRoot } from '../../files/root.ts'
import { makePdf } from '../../../test/fixtures/make-documents.ts'
import { createListFiles, createReadFile } from './files.ts'
import { dependenciesOf } from '../dependencies-fixture.ts'
import { contextOf } from '../../agent/react-fixture.ts'

const base = await mkdtemp(path.join(tmpdir(), 'file-tools-'))
after(() => rm(base, { recursive: true }))
const folder = path.join(base, 'files')
await mkdir(path.join(folder, 'hr'), { recursive: true })
await mkdir(path.join(folder, 'it'))
await writeFile(path.join(folder, 'hr', 'leave.md'), '# Leave\n\n25 days.')
await writeFile(path.join(folder, 'hr', 'travel.pdf'), makePdf(['Travel rules']))
await writeFile(path.join(folder, 'hr', 'broken.pdf'), '%PDF-1.4 broken')
await writeFile(path.join(folder, 'it', 'long.txt'), 'line "quoted"\n'.repeat(300))
await writeFile(path.join(folder, 'it', 'faces.txt'), '😀'.repeat(200))
await writeFile(path.join(folder, '.env'), 'SECRET')
await writeFile(path.join(base, 'outside.txt'), 'outside')
await symlink(path.join(base, 'outside.txt'), path.join(folder, 'it', 'out.txt'))
await symlink(path.join(folder, 'hr', 'leave.md'), path.join(folder, 'it', 'alias.md'))

const deps = dependenciesOf({ files: await openFilesRoot(folder), cacheDir: path.join(base, 'cache') })
const spec = { name: 'files', timeoutMs: 30_000, maxOutputCharacters: 20_000, config: {} }
const unrestricted = contextOf()
const withoutHr: ToolContext = { ...unrestricted, isWithheld: (file) => file.startsWith('hr/') }

async function list(input: JsonObject, context = unrestricted, overrides = {}) {
  const output = await createListFiles({ ...spec, ...overrides }, deps).tool.execute(input, context)
  return output as { files: { path: string; bytes: number }[]; total: number }
}

async function names(...args: Parameters<typeof list>): Promise<string[]> {
  return (await list(...args)).files.map((file) => file.path)
}

interface Page {
  path: string
  text: string
  offset: number
  total_characters: number
  next_offset?: number
}

async function read(input: JsonObject, context = unrestricted, overrides = {}): Promise<Page> {
  return (await createReadFile({ ...spec, ...overrides }, deps).tool.execute(input, context)) as unknown as Page
}

const allFiles = ['hr/broken.pdf', 'hr/leave.md', 'hr/travel.pdf', 'it/alias.md', 'it/faces.txt', 'it/long.txt']

test('files are listed with their sizes, all or in a folder', async () => {
  assert.deepEqual(await names({}), allFiles)
  assert.deepEqual(await list({ path: './hr/leave.md' }), { files: [{ path: 'hr/leave.md', bytes: 17 }], total: 1 })
  assert.deepEqual(await names({ path: 'it/' }), allFiles.slice(3))
  await assert.rejects(list({ path: 'none' }), /There are no files under none/)
  await assert.rejects(list({ path: '../' }), /outside of the files root/)
})

test('only the files of the configured patterns are listed and read', async () => {
  const overrides = { config: { paths: ['./hr/*.md', 'it/'] } }
  assert.deepEqual(await names({}, unrestricted, overrides), ['hr/leave.md', ...allFiles.slice(3)])
  await assert.rejects(read({ path: 'hr/travel.pdf' }, unrestricted, overrides), /not among the files of this tool/)
})

test('a long list ends within the output limit', async () => {
  const output = await list({}, unrestricted, { maxOutputCharacters: 200 })
  assert.equal(output.total, 6)
  assert.deepEqual(
    output.files.map((file) => file.path),
    allFiles.slice(0, 2),
  )
  assert.ok(JSON.stringify(output).length <= 200)
})

test('withheld files are neither listed nor read under any name', async () => {
  assert.deepEqual(await names({}, withoutHr), ['it/faces.txt', 'it/long.txt'])
  for (const name of ['hr/leave.md', './it/../hr/leave.md', 'it/alias.md', path.join(folder, 'hr/leave.md')]) {
    await assert.rejects(read({ path: name }, withoutHr), /a data filter restricts it/, name)
  }
})

test('a document is read as text', async () => {
  assert.deepEqual(await read({ path: 'hr/leave.md' }), {
    path: 'hr/leave.md',
    text: '# Leave\n\n25 days.',
    offset: 0,
    total_characters: 17,
  })
  assert.match((await read({ path: 'hr/travel.pdf' })).text, /Travel rules/)
  await assert.rejects(read({ path: 'hr/broken.pdf' }), /cannot be read as PDF/)
})

test('pages fit into the output limit and together contain the whole text', async () => {
  for (const [name, whole] of [
    ['it/long.txt', 'line "quoted"\n'.repeat(300)],
    ['it/faces.txt', '😀'.repeat(200)],
  ] as const) {
    let text = ''
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const page: Page = await read({ path: name, offset }, unrestricted, { maxOutputCharacters: 301 })
      assert.ok(JSON.stringify(page).length <= 301)
      assert.ok(page.text.isWellFormed())
      text += page.text
      offset = page.next_offset
    }
    assert.equal(text, whole)
  }
  await assert.rejects(read({ path: 'hr/leave.md', offset: 18 }), /The offset 18 is after the end: hr\/leave\.md has 17 characters/)
})

test('files outside the root and hidden files are not read', async () => {
  for (const attack of ['../outside.txt', 'it/out.txt', '/etc/passwd', '.env', 'hr/../.env', '..', 'hr', 'none.txt']) {
    await assert.rejects(read({ path: attack }), /outside of the files root|not among the files|does not exist|is not a file/, attack)
  }
})
