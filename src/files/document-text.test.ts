import { zipSync } from 'fflate'
import { after, test } from 'node:test'
import assert from 'node:assert/strict'
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { makeDocx, makePdf, makeXlsx } from '../../test/fixtures/make-documents.ts'
import { readHtml } from './html.ts'
import { readMarkdown, toSections } from './markdown.ts'
import { parseInProcess } from './document-process.ts'
import { maxDocumentBytes } from './document-kind.ts'
import { readDocument } from './document-text.ts'
import { workSince } from '../../test/fixtures/work-meter.ts'

const folder = await mkdtemp(path.join(tmpdir(), 'documents-'))
after(() => rm(folder, { recursive: true }))

async function read(name: string, content: string | Uint8Array) {
  const file = path.join(folder, name)
  await writeFile(file, content)
  const document = await readDocument(file)
  return { ...document, sections: document.sections.map(({ heading, text }) => ({ heading, text })) }
}

test('Markdown is split by its headings and its front matter is metadata', async () => {
  const front = '---\ntitle: Leave\nlevel: 3\npublic: true\ntags: [a, b]\nnested: {x: 1}\nnone:\n---\n'
  const body = 'Before.\n\n# Leave #\n\n## Annual\n\n25 days.\n\n```sh\n# no heading\n```\n\n## Sick\n\nTell us.\n\nHours\n-----\n\n40.\n'
  const { text, sections, metadata } = await read('leave.md', front + body)
  assert.deepEqual(metadata, { title: 'Leave', level: 3, public: true, tags: 'a, b' })
  assert.deepEqual(sections, [
    { heading: '', text: 'Before.' },
    { heading: 'Leave', text: '' },
    { heading: 'Leave > Annual', text: '25 days.\n\n```sh\n# no heading\n```' },
    { heading: 'Leave > Sick', text: 'Tell us.' },
    { heading: 'Leave > Hours', text: '40.' },
  ])
  assert.equal(text, front + body)
})

test('front matter that is not YAML gives no metadata, and the document stays readable', async () => {
  const { metadata, sections } = await read('bad.md', '---\na: [1\n---\n# Title\ntext')
  assert.deepEqual({ metadata, sections }, { metadata: {}, sections: [{ heading: 'Title', text: 'text' }] })
})

test('the visible text of an HTML page is read, with headings, lists and tables', async () => {
  const page =
    '<html><head><title>T</title><meta name="author" content="Ada"><style>x{}</style></head><body><nav>menu</nav><h1>One</h1>' +
    '<p>Hello <b>world</b>.<br>Next &amp; last</p><ul><li>a</li><li>b</li></ul><script>bad()</script>' +
    '<h2>Two</h2><table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td>2</td></tr></table></body></html>'
  const { sections, metadata } = await read('page.html', page)
  assert.deepEqual(metadata, { title: 'T', author: 'Ada' })
  assert.deepEqual(sections, [
    { heading: 'One', text: 'Hello world.\nNext & last\n\n- a\n- b' },
    { heading: 'One > Two', text: '| k | v |\n| 1 | 2 |' },
  ])
})

test('a large HTML page is read like a small one', async () => {
  const { sections } = await read('large.html', `<h1>Zürich</h1>${'<p>Some text.</p>'.repeat(5000)}`)
  assert.equal(sections[0]?.heading, 'Zürich')
  assert.equal(sections[0]?.text.match(/Some text\./g)?.length, 5000)
})

test('a large Markdown document is read like a small one, unless it has too many headings', async () => {
  const { text, sections } = await read('large.md', `# Zürich\n\n${'Some text.\n'.repeat(100_000)}`)
  assert.deepEqual(
    { sectionCount: sections.length, heading: sections[0]?.heading, textCount: text.length },
    { sectionCount: 1, heading: 'Zürich', textCount: 1_100_010 },
  )
  await assert.rejects(read('headings.md', '# a\n'.repeat(300_000)), /cannot be read as Markdown: it has more than 100000 sections$/)
})

test('a PDF is read page by page', async () => {
  const { text, sections, metadata } = await read('two.pdf', makePdf(['Travel rules', 'Second page']))
  assert.deepEqual(sections, [
    { heading: 'Page 1', text: 'Travel rules' },
    { heading: 'Page 2', text: 'Second page' },
  ])
  assert.equal(metadata['pages'], 2)
  assert.match(text, /Travel rules[\s\S]*Second page/)
})

test('a PDF names what its outline names', async () => {
  const outline = [
    { title: 'Travel', page: 1 },
    { title: 'Hotels', page: 1 },
    { title: 'Refunds', page: 3 },
  ]
  const { sections } = await read('outline.pdf', makePdf(['Trains', 'Beds', 'Money', ''], outline))
  assert.deepEqual(sections, [
    { heading: 'Page 1, Travel', text: 'Trains' },
    { heading: 'Page 2, Hotels', text: 'Beds' },
    { heading: 'Page 3, Refunds', text: 'Money' },
    { heading: 'Page 4, Refunds', text: '' },
  ])
})

test('a PDF without an outline is cut at lines in larger type', async () => {
  const body = (text: string) => ({ text: `${text} of a sentence that is as long as sentences of documents are`, size: 10 })
  const { sections } = await read(
    'type.pdf',
    makePdf([
      [body('Start'), { text: 'Refunds of', size: 16 }, { text: 'tickets', size: 16 }, body('Money'), body('More')],
      [body('Rest'), { text: 'Hotels', size: 14 }, body('Beds'), { text: '17', size: 14 }],
    ]),
  )
  assert.deepEqual(
    sections.map(({ heading, text }) => [heading, text.split('\n').map((line) => line.split(' ')[0])]),
    [
      ['Page 1', ['Start']],
      ['Page 1, Refunds of tickets', ['Money', 'More']],
      ['Page 2, Refunds of tickets', ['Rest']],
      ['Page 2, Hotels', ['Beds', '17']],
    ],
  )
  const poster = await read('poster.pdf', makePdf([[{ text: 'Everything is large here', size: 30 }, body('Small')]]))
  assert.deepEqual(
    poster.sections.map(({ heading }) => heading),
    ['Page 1'],
  )
})

test('a Word document is read with its headings', async () => {
  const { sections } = await read('plan.docx', makeDocx(['# Plan', 'We start &amp; finish.', '# End', 'Done.']))
  assert.deepEqual(sections, [
    { heading: 'Plan', text: 'We start & finish.' },
    { heading: 'End', text: 'Done.' },
  ])
})

test('a workbook is read sheet by sheet, a line for each row', async () => {
  const { sections } = await read(
    'prices.xlsx',
    makeXlsx('Prices', [
      ['item', 'price'],
      ['tea', 3.5],
    ]),
  )
  assert.deepEqual(sections, [{ heading: 'Prices', text: 'item | price\ntea | 3.5' }])
})

test('text of any encoding is read, and a file without a known extension is recognized by its content', async () => {
  assert.equal((await read('latin.txt', Buffer.from('Zürich', 'latin1'))).text, 'Zürich')
  assert.equal((await read('utf16.csv', Buffer.from('\ufeffa;b', 'utf16le'))).text, 'a;b')
  assert.equal((await read('bom.json', '\ufeff{"a": 1}')).text, '{"a": 1}')
  assert.equal((await read('report', makePdf(['Hidden PDF']))).sections[0]?.text, 'Hidden PDF')
  assert.equal((await read('letter', makeDocx(['Hidden Word']))).text, 'Hidden Word')
})

test('a broken file is reported in words, without its path', async () => {
  const broken: [string, string | Buffer, RegExp][] = [
    ['broken.pdf', '%PDF-1.4 garbage', /^The document cannot be read as PDF: /],
    ['cut.pdf', makePdf(['x']).subarray(0, 200), /^The document cannot be read as PDF: /],
    ['empty.pdf', '', /^The document cannot be read as PDF: /],
    ['broken.docx', 'PK\x03\x04 nothing', /^The document cannot be read as Word: /],
    ['broken.xlsx', 'not a workbook', /^The document cannot be read as Excel: /],
    ['image.dat', Buffer.from([1, 0, 2, 0]), /^The document cannot be read as text: it is not text$/],
  ]
  for (const [name, content, message] of broken) {
    await assert.rejects(read(name, content), (error: Error) => message.test(error.message) && !error.message.includes(folder))
  }
})

test('a document that is too large, packed or unpacked, is refused before parsing', async () => {
  const large = path.join(folder, 'large.txt')
  await writeFile(large, '')
  await truncate(large, maxDocumentBytes + 1)
  await assert.rejects(readDocument(large), /has 50000001 bytes, more than/)
})

test('the bytes of a packed document are counted while they are unpacked, whatever the archive states', async () => {
  const bomb = Buffer.from(zipSync({ 'word/document.xml': new Uint8Array(301_000_000) }, { level: 1 }))
  const lying = Buffer.from(bomb)
  const entry = lying.readUInt32LE(lying.length - 22 + 16)
  lying.writeUInt32LE(5000, entry + 24)
  const shifted = Buffer.concat([Buffer.alloc(64), bomb])
  await assert.rejects(read('bomb.docx', bomb), /: it unpacks to more than 300 MB$/)
  for (const [name, archive] of Object.entries({ lying, shifted })) {
    const startedAt = performance.now()
    await assert.rejects(read(`${name}.docx`, archive), /: it is damaged, or of another format$/)
    assert.ok(performance.now() - startedAt < 5000, 'before it is unpacked')
  }
})

test('elements that are nested too deeply are refused before they are parsed, in a process and in the service', async () => {
  for (const depth of [300_000, 5000]) {
    const startedAt = performance.now()
    await assert.rejects(read('deep.html', '<div>'.repeat(depth)), /: its elements are nested too deeply$/)
    assert.ok(performance.now() - startedAt < 10_000)
  }
  const list = await read('list.html', '<ul>' + '<li>a'.repeat(5000))
  assert.equal(list.text.match(/- a/g)?.length, 5000)
})

test('parsing stops after its time limit', async () => {
  await assert.rejects(parseInProcess('pdf', makePdf(['Slow']), { maxMs: 1 }), /^Error: it took longer than 0\.001 s$/)
})

test('a document that needs too much memory fails without further effects', async () => {
  const page = Buffer.from('<b>x</b>'.repeat(300_000))
  await assert.rejects(parseInProcess('html', page, { heapMb: 48 }), /^Error: it needs too much memory$/)
})

test('the marks of a heading are removed, even in unusual positions', () => {
  const headings = ['# a #', '## a#', '# #', '# # ##', '#\ta \t##  ', '#', '#  ', '#a', '####### a'].map(
    (line) => toSections(line)[0]?.heading,
  )
  assert.deepEqual(headings, ['a', 'a#', '#', '#', 'a', '', '', '', ''])
})

test('reading takes linear time, whatever white space and headings a document has', () => {
  const wide = ' '.repeat(200_000)
  const work = workSince()
  for (const text of [`# a${wide}x`, `# a${' #'.repeat(100_000)}x`, `---${wide}x`, `# ${'a'.repeat(100_000)}${'\n## b'.repeat(30_000)}`]) {
    assert.ok(toSections(text).length > 0)
  }
  const front = Array.from({ length: 20_000 }, (_, key) => `key${key}: 1\n`).join('')
  assert.equal(readMarkdown(`---\n${front}---\ntext`).sections[0]?.text, 'text')
  assert.equal(readHtml(`<pre>${wide}x\n${wide}</pre>`).sections.length, 1)
  assert.ok(work() < 1_000)
})

test('a large document is parsed in another thread', async () => {
  const rows = Array.from({ length: 40_000 }, (_, row) => [`name ${row}`, row, row * 2])
  const file = path.join(folder, 'large.xlsx')
  await writeFile(file, makeXlsx('Large', rows))
  const before = process.threadCpuUsage()
  const { text } = await readDocument(file)
  const { user, system } = process.threadCpuUsage(before)
  assert.match(text, /name 39999 \| 39999 \| 79998$/)
  // Parsing in this thread would take about 400 ms of its processor time.
  assert.ok(user + system < 200e3, `this thread took ${(user + system) / 1e3} ms`)
})
