import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { makeDocx, makePdf } from '../../../test/fixtures/make-documents.ts'
import { contextOf } from '../../agent/react-fixture.ts'
import type { DataFilter, ToolContext } from '../../agent/tool.ts'
import { openFilesRoot } from '../../files/root.ts'
import { createSearch } from '../../search/search.ts'
import { dependenciesOf } from '../dependencies-fixture.ts'
import { createKnowledgeSearch } from './knowledge-search.ts'

let base: string
let root: string
let cacheDir: string
let clock = 0
before(async () => {
  base = await mkdtemp(path.join(tmpdir(), 'knowledge-'))
})
after(() => rm(base, { recursive: true }))

beforeEach(async () => {
  root = await mkdtemp(path.join(base, 'files-'))
  cacheDir = `${root}-cache`
  await put(
    'docs/hr.md',
    '---\ndepartment: hr\nlevel: 3\n---\n# Annual leave\n\nEverybody has 25 days of leave.\n\n# Salaries\n\nThe secret bonus is 9000.',
  )
  await put('docs/it.md', '---\ndepartment: it\nlevel: 1\n---\n# Laptops\n\nA laptop is replaced after 4 years. No bonus.')
  await put('docs/plain.txt', 'The bonus of plain text without any department.')
  await put('other/note.md', '# Elsewhere\n\nbonus')
})

async function put(name: string, content: string | Uint8Array): Promise<string> {
  const file = path.join(root, name)
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(file, content)
  return file
}

async function build(overrides: { description?: string; maxOutputCharacters?: number; config?: Record<string, unknown> } = {}) {
  const spec = { name: 'handbook', timeoutMs: 30_000, maxOutputCharacters: 20_000, config: { paths: ['docs/**'] }, ...overrides }
  const deps = dependenciesOf({ files: await openFilesRoot(root), cacheDir })
  const { tool } = await createKnowledgeSearch(spec, deps, { now: () => clock, maxWaitMs: 60_000 })
  return tool
}

interface Passage {
  file: string
  heading: string
  page?: number
  start: number
  end: number
  text: string
  score: number
  metadata: Record<string, unknown>
}

type Searched = Awaited<ReturnType<typeof build>>

async function search(tool: Searched, query: string, overrides: Partial<ToolContext> = {}, limit?: number): Promise<Passage[]> {
  clock += 10_000
  const output = await tool.execute({ query, ...(limit && { limit }) }, contextOf(overrides))
  return (output as unknown as { passages: Passage[] }).passages
}

async function filesOf(...args: Parameters<typeof search>): Promise<string[]> {
  return [...new Set((await search(...args)).map(({ file }) => file))].sort()
}

function hint(key: string, type: DataFilter['type'], value: string): DataFilter {
  return { tool: 'handbook', key, type, value }
}

test('passages are found in documents of every kind, with file, heading, place, score and metadata', async () => {
  await put('docs/rules.pdf', makePdf(['Travel rules for trains']))
  await put('docs/plan.docx', makeDocx(['# Expansion', 'We open an office in Bern.']))
  const tool = await build()
  const [best] = await search(tool, 'how many days of annual leave?')
  assert.ok(best && best.score > 0)
  assert.deepEqual(
    { ...best, score: 0 },
    {
      file: 'docs/hr.md',
      heading: 'Annual leave',
      start: 48,
      end: 79,
      text: 'Everybody has 25 days of leave.',
      score: 0,
      metadata: { department: 'hr', level: 3 },
    },
  )
  const [page] = await search(tool, 'trains')
  assert.deepEqual([page?.file, page?.page, page?.start, page?.end], ['docs/rules.pdf', 1, 8, 31])
  assert.deepEqual(await filesOf(tool, 'expansion in Bern'), ['docs/plan.docx'])
  assert.deepEqual(await filesOf(tool, 'bonus'), ['docs/hr.md', 'docs/it.md', 'docs/plain.txt'])
  assert.equal((await search(tool, 'bonus', {}, 2)).length, 2)
})

test('no query finds passages that a filter excludes', async () => {
  const tool = await build()
  const itOnly = [hint('department', 'equals', 'it')]
  const attacks = [
    'bonus',
    'secret bonus 9000',
    'department: hr',
    'docs/hr.md',
    'ignore the filter; department = hr OR 1=1',
    'salaries',
    'hr',
    '*',
    '.*',
  ]
  for (const query of attacks) {
    for (const { file, metadata } of await search(tool, query, { filters: itOnly }, 20)) {
      assert.deepEqual({ file, department: metadata['department'] }, { file: 'docs/it.md', department: 'it' }, query)
    }
  }
  assert.deepEqual(await filesOf(tool, 'bonus', { filters: itOnly }), ['docs/it.md'])
})

test('filters apply to front matter and path, in the type of the field, and can be combined', async () => {
  const tool = await build()
  const filesWith = (...filters: DataFilter[]) => filesOf(tool, 'bonus', { filters }, 20)
  assert.deepEqual(await filesWith(hint('level', 'equals', '3.0')), ['docs/hr.md'])
  assert.deepEqual(await filesWith(hint('department', 'in', 'it, hr')), ['docs/hr.md', 'docs/it.md'])
  assert.deepEqual(await filesWith(hint('path', 'contains', 'plain')), ['docs/plain.txt'])
  assert.deepEqual(await filesWith(hint('file', 'not_equals', 'docs/plain.txt')), ['docs/hr.md', 'docs/it.md'])
  assert.deepEqual(await filesWith(hint('department', 'in', 'it,hr'), hint('level', 'not_equals', '1')), ['docs/hr.md'])
})

test('a document without the key is excluded, even by not_equals', async () => {
  const tool = await build()
  assert.deepEqual(await filesOf(tool, 'bonus', { filters: [hint('department', 'not_equals', 'it')] }), ['docs/hr.md'])
  assert.deepEqual(await filesOf(tool, 'bonus', { filters: [hint('unknown', 'not_equals', 'x')] }), [])
})

test('a document cannot pretend to have another path', async () => {
  await put('docs/liar.md', '---\npath: docs/it.md\nfile: docs/it.md\n---\nbonus for liars')
  const tool = await build()
  assert.deepEqual(await filesOf(tool, 'bonus', { filters: [hint('path', 'equals', 'docs/it.md')] }), ['docs/it.md'])
})

test('files withheld for another tool are not searched under any name, including links', async () => {
  await symlink(path.join(root, 'docs/hr.md'), path.join(root, 'docs/alias.md'))
  const tool = await build()
  assert.deepEqual(await filesOf(tool, 'annual leave'), ['docs/alias.md', 'docs/hr.md'])
  const isWithheld = (file: string) => file === 'docs/hr.md'
  assert.deepEqual(await filesOf(tool, 'bonus annual leave', { isWithheld }), ['docs/it.md', 'docs/plain.txt'])
})

test('the tool knows which files it reads, including links and their targets', async () => {
  await symlink(path.join(root, 'other/note.md'), path.join(root, 'docs/link.md'))
  await put('secret.md', 'beside')
  const tool = await build()
  for (const file of ['docs/hr.md', 'docs/not/yet.md', 'docs/link.md', 'other/note.md']) assert.ok(tool.readsFile?.(file), file)
  for (const file of ['secret.md', 'docs', 'docsx/a.md', 'docs/.hidden.md']) assert.ok(!tool.readsFile?.(file), file)
})

test('the new target of a link is recognized before the next search', async () => {
  await put('other/next.md', 'next')
  await symlink(path.join(root, 'other/note.md'), path.join(root, 'docs/link.md'))
  const tool = await build()
  assert.deepEqual([tool.readsFile?.('other/note.md'), tool.readsFile?.('other/next.md')], [true, false])
  await rm(path.join(root, 'docs/link.md'))
  await symlink(path.join(root, 'other/next.md'), path.join(root, 'docs/link.md'))
  assert.equal(tool.readsFile?.('other/next.md'), true)
})

test('the description without visible documents contains no headings', async () => {
  const tool = await build()
  assert.match(tool.description, /Headings: /)
  assert.doesNotMatch(tool.describe({ filters: [], isWithheld: () => true }), /Headings|Annual/i)
})

test('links to files outside the root are not indexed', async () => {
  const outside = path.join(base, 'outside.md')
  await writeFile(outside, 'zebra')
  await symlink(outside, path.join(root, 'docs/zebra.md'))
  assert.deepEqual(await filesOf(await build(), 'zebra'), [])
  for (const pattern of ['../*.md', '/**/outside.md', 'docs/../../*.md', '{..,docs}/*.md']) {
    await assert.rejects(build({ config: { paths: [pattern] } }), /leads out of the files root/, pattern)
  }
})

test('new, changed and removed documents are noticed', async () => {
  const tool = await build()
  await put('docs/new.md', '# Parking\n\nBehind the house.')
  await put('docs/it.md', '# Laptops\n\nReplaced after five years.')
  await rm(path.join(root, 'docs/plain.txt'))
  assert.deepEqual(await filesOf(tool, 'parking'), ['docs/new.md'])
  assert.match((await search(tool, 'laptop'))[0]?.text ?? '', /five years/)
  assert.deepEqual(await filesOf(tool, 'bonus'), ['docs/hr.md'])
  assert.match(tool.description, /Parking/)
})

test('a scan of the disk stays valid for some seconds', async () => {
  const tool = await build()
  const before = clock
  await search(tool, 'bonus')
  await put('docs/new.md', 'parking')
  clock = before + 10_000 - 8_000
  assert.deepEqual(await filesOf(tool, 'parking'), [])
  assert.deepEqual(await filesOf(tool, 'parking'), ['docs/new.md'])
})

test('a broken document does not affect others, and is found once it is repaired', async () => {
  await put('docs/rules.pdf', makePdf(['Travel rules for trains']))
  await put('docs/broken.pdf', '%PDF-1.4 broken')
  const tool = await build()
  assert.deepEqual(await filesOf(tool, 'trains'), ['docs/rules.pdf'])
  await put('docs/broken.pdf', makePdf(['Trains again']))
  assert.deepEqual(await filesOf(tool, 'trains'), ['docs/broken.pdf', 'docs/rules.pdf'])
})

test('a document that cannot be read is a fault of the tool, until it is repaired', async () => {
  await put('docs/scan.pdf', makePdf(['']))
  const tool = await build()
  const reason = 'The document cannot be read as PDF: it has no text: it seems to be scanned (1 pages)'
  assert.deepEqual(tool.state?.(), { faults: [`docs/scan.pdf: ${reason}`] })
  await rm(path.join(root, 'docs/scan.pdf'))
  await search(tool, 'bonus')
  assert.deepEqual(tool.state?.(), { faults: [] })
})

test('a search does not wait for many documents, and says that some are missing', async () => {
  const { search, held, release } = withheldPuts('docs/zz')
  const deps = dependenciesOf({ files: await openFilesRoot(root), cacheDir, search })
  const spec = { name: 'a', timeoutMs: 30_000, maxOutputCharacters: 20_000, config: { paths: ['docs/**'] } }
  const first = await createKnowledgeSearch(spec, deps, { now: () => clock, maxWaitMs: 60_000 })
  for (let number = 0; number < 4; number++) await put(`docs/zz${number}.pdf`, makePdf([`Number ${number}`]))
  clock += 10_000
  const { tool, close } = await createKnowledgeSearch(spec, deps, { maxWaitMs: 1 })
  await held
  const output = (await tool.execute({ query: 'bonus' }, contextOf({}))) as unknown as { passages: Passage[]; note?: string }
  assert.equal(output.note, '4 documents are not indexed yet: the answer may be in one of them.')
  assert.equal(tool.state?.().progress, '3 of 7 documents are indexed')
  assert.equal(output.passages.length, 3)
  release()
  await Promise.all([first.close?.(), close?.()])
})

/** A search whose retrievers hold documents back, from the first one that begins with `prefix` until `release`. */
function withheldPuts(prefix: string) {
  const [inner, held, gate] = [createSearch(), Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const open: typeof inner.open = async (...args) => {
    const retriever = await inner.open(...args)
    const put: typeof retriever.put = async (...documents) => {
      if (documents.some(({ id }) => id.startsWith(prefix))) {
        held.resolve()
        await gate.promise
      }
      return retriever.put(...documents)
    }
    return { ...retriever, put }
  }
  return { search: { ...inner, open }, held: held.promise, release: gate.resolve }
}

test('two tools with the same patterns share an index, which the last one closes', async () => {
  const names: string[] = []
  const inner = createSearch()
  const shared = { ...inner, open: (...[name, options]: Parameters<typeof inner.open>) => (names.push(name), inner.open(name, options)) }
  const deps = dependenciesOf({ files: await openFilesRoot(root), cacheDir, search: shared })
  const spec = { name: 'a', timeoutMs: 30_000, maxOutputCharacters: 20_000, config: { paths: ['docs/**'] } }
  const [one, two] = await Promise.all([createKnowledgeSearch(spec, deps), createKnowledgeSearch({ ...spec, name: 'b' }, deps)])
  assert.deepEqual(
    inner.progress().map(({ label }) => label),
    ['a, b'],
  )
  await one.close?.()
  assert.deepEqual(
    inner.progress().map(({ label }) => label),
    ['b'],
  )
  assert.deepEqual(await filesOf(two.tool, 'laptop'), ['docs/it.md'])
  await Promise.all([two.close?.(), createKnowledgeSearch(spec, deps)])
  assert.deepEqual([names.length, inner.progress().length], [2, 1])
})

async function storedFiles(): Promise<string[]> {
  const [folder = ''] = await readdir(cacheDir)
  return (await readdir(path.join(cacheDir, folder))).map((name) => path.join(cacheDir, folder, name))
}

async function storedFileOf(relative: string): Promise<string> {
  for (const file of await storedFiles()) if (JSON.parse(await readFile(file, 'utf8')).relative === relative) return file
  return assert.fail(`${relative} is not stored`)
}

test('after a restart stored passages are used again, unless the file has changed', async () => {
  await put('docs/rules.pdf', makePdf(['Travel rules for trains']))
  await build()
  const file = await storedFileOf('docs/rules.pdf')
  await writeFile(file, (await readFile(file, 'utf8')).replace('trains', 'wagons'))
  assert.deepEqual(await filesOf(await build(), 'wagons'), ['docs/rules.pdf'])
  await utimes(path.join(root, 'docs/rules.pdf'), 1, 1)
  assert.deepEqual(await filesOf(await build(), 'wagons'), ['docs/rules.pdf'], 'the same content under a new date')
  await put('docs/rules.pdf', makePdf(['Travel rules for planes']))
  assert.deepEqual(await filesOf(await build(), 'wagons planes'), ['docs/rules.pdf'])
  assert.deepEqual(await filesOf(await build(), 'wagons'), [])
})

test('after a restart a document that cannot be read is not read again, unless it has changed', async () => {
  await put('docs/broken.pdf', '%PDF-1.4 broken')
  await build()
  const file = await storedFileOf('docs/broken.pdf')
  await writeFile(file, (await readFile(file, 'utf8')).replace('cannot be read', 'was not read again'))
  assert.match((await build()).state?.().faults?.[0] ?? '', /^docs\/broken\.pdf: The document was not read again as PDF/)
  await put('docs/broken.pdf', makePdf(['Repaired rules for trains']))
  const repaired = await build()
  assert.deepEqual(repaired.state?.(), { faults: [] })
  assert.deepEqual(await filesOf(repaired, 'trains'), ['docs/broken.pdf'])
})

test('damaged stored passages are read again, and passages of removed files are deleted', async () => {
  await build()
  const [hr, itFile] = [await storedFileOf('docs/hr.md'), await storedFileOf('docs/it.md')]
  await writeFile(hr, '{"format": 1, "passages": [')
  await writeFile(itFile, '{"format":1,"relative":"docs/it.md","passages":[{"text":5}],"metadata":{}}')
  const tool = await build()
  assert.deepEqual(await filesOf(tool, 'bonus'), ['docs/hr.md', 'docs/it.md', 'docs/plain.txt'])
  assert.equal((await storedFiles()).length, 3)
  await rm(path.join(root, 'docs/hr.md'))
  await search(tool, 'bonus')
  assert.equal((await storedFiles()).length, 2)
})

test('the description lists patterns and headings up to a limit, unless the configuration sets a description', async () => {
  const headings = Array.from({ length: 100 }, (_, number) => `# Heading number ${number}\n\ntext`)
  await put('docs/long.md', headings.join('\n\n'))
  const { description } = await build()
  assert.match(
    description,
    /^Searches the documents docs\/\*\* and uploaded documents and returns passages with their file and heading\. Name both in the answer\. Headings: /,
  )
  assert.match(description, /Annual leave.*Laptops|Laptops.*Annual leave/)
  assert.match(description, /Heading number 0.*\.$/)
  assert.doesNotMatch(description, /Page 1/)
  assert.ok(description.length <= 600)
  assert.equal((await build({ description: 'The handbook.' })).description, 'The handbook.')
})

test('in a restricted scope the description has no headings of excluded documents', async () => {
  const tool = await build()
  const itOnly = tool.describe({ filters: [hint('department', 'equals', 'it')], isWithheld: () => false })
  assert.match(itOnly, /Headings: Laptops\.$/)
  assert.doesNotMatch(tool.describe({ filters: [], isWithheld: (file) => file === 'docs/hr.md' }), /Annual leave|Salaries/)
  assert.doesNotMatch(tool.describe({ filters: [hint('department', 'equals', 'law')], isWithheld: () => false }), /Headings/)
})

test('the output stays within the limit of the tool', async () => {
  for (let number = 0; number < 10; number++) await put(`docs/p${number}.md`, `# Pears\n\n${'pear '.repeat(100)}`)
  const tool = await build({ maxOutputCharacters: 2000 })
  const passages = await search(tool, 'pears', {}, 10)
  assert.ok(passages.length >= 2 && JSON.stringify({ passages }).length <= 2000)
})

test('a search in a folder without documents finds nothing', async () => {
  const tool = await build({ config: { paths: ['none/**'] } })
  assert.deepEqual(await search(tool, 'bonus'), [])
})

test('the input is checked', async () => {
  const tool = await build()
  assert.equal(tool.check({}), 'query is required')
  assert.equal(tool.check({ query: 'x', limit: 21 }), 'limit must be <= 20')
  assert.equal(tool.check({ query: 'x', limit: 3 }), undefined)
})
