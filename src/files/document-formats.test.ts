import { test } from 'node:test'
import assert from 'node:assert/strict'
import { makeDocx, makeEpub, makeOdt, makePdf, makePptx, makeXlsx, makeZip } from '../../test/fixtures/make-documents.ts'
import { readDocumentBytes } from './document-text.ts'
import { kindOf, type DocumentKind } from './document-kind.ts'
import { readEml } from './eml.ts'
import { readEpub } from './epub.ts'
import { readOdt, readDocx, readXlsx, readPptx } from './office.ts'
import { readPdf } from './pdf.ts'

async function read(kind: DocumentKind, content: string | Buffer) {
  const document = await readDocumentBytes(Buffer.from(content), kind)
  for (const { text, start } of document.sections) assert.equal(document.text.slice(start, start + text.length), text)
  return { ...document, sections: document.sections.map(({ heading, text, page }) => ({ heading, text, ...(page && { page }) })) }
}

test('a presentation is read slide by slide with tables and notes, in the order of the talk', async () => {
  const slides = [
    { title: 'Prices &amp; plans', lines: ['Small: 9 EUR', 'Large: 19 EUR'], notes: 'Do not mention the discount.' },
    {
      lines: ['Without a title'],
      rows: [
        ['Plan', 'Seats'],
        ['Small', '3'],
      ],
    },
  ]
  const { sections, metadata } = await read('pptx', makePptx('Sales', slides))
  assert.deepEqual(metadata, { title: 'Sales', pages: 2 })
  assert.deepEqual(sections, [
    { heading: 'Prices & plans', text: 'Small: 9 EUR\nLarge: 19 EUR\n\nNotes: Do not mention the discount.', page: 1 },
    { heading: 'Slide 2', text: 'Without a title\n| Plan | Seats |\n| Small | 3 |', page: 2 },
  ])
})

test('a text of OpenDocument is read with headings, lists and tables, without comments and deleted text', async () => {
  const body =
    '<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>' +
    '<text:h text:outline-level="1">Travel</text:h><text:p>Book<text:s text:c="2"/>early.<office:annotation><text:p>why?</text:p></office:annotation></text:p>' +
    '<text:h text:outline-level="2">Trains</text:h><text:list><text:list-item><text:p>First &amp; second</text:p></text:list-item><text:list-item><text:p>Third</text:p></text:list-item></text:list>' +
    '<table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table>'
  const { sections, metadata } = await read('odt', makeOdt(body))
  assert.deepEqual(metadata, { title: 'Rules', author: 'Ada' })
  assert.deepEqual(sections, [
    { heading: 'Travel', text: 'Book  early.' },
    { heading: 'Travel > Trains', text: '- First & second\n\n- Third\n\n| a | b |' },
  ])
})

test('a book is read chapter by chapter, with titles of the table of contents where a chapter has none', async () => {
  const chapters = ['<h1>One</h1><p>It begins.</p><a id="x"/><h2>Later</h2><p>More.</p>', '<p>It ends.</p>', '<p>Nameless.</p>']
  const { sections, metadata } = await read('epub', makeEpub(chapters, { 0: 'First', 1: 'The end' }))
  assert.deepEqual(metadata, { title: 'The book', author: 'Ada' })
  assert.deepEqual(sections, [
    { heading: 'One', text: 'It begins.' },
    { heading: 'One > Later', text: 'More.' },
    { heading: 'The end', text: 'It ends.' },
    { heading: '', text: 'Nameless.' },
  ])
})

test('an e-mail is read with its head, its text and the names of its attachments', async () => {
  const lines = [
    'From: =?utf-8?Q?J=C3=BCrg?= <juerg@example.com>',
    'To: Ann <ann@example.com>, bob@example.com',
    'Subject: Offer for May',
    'Date: Mon, 04 May 2026 10:00:00 +0200',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: text/html; charset=iso-8859-1',
    'Content-Transfer-Encoding: quoted-printable',
    '',
    '<p>The price is <b>9 EUR</b> f=FCr all.</p>',
    '--b',
    'Content-Type: application/pdf; name=offer.pdf',
    'Content-Disposition: attachment; filename=offer.pdf',
    'Content-Transfer-Encoding: base64',
    '',
    'JVBERg==',
    '--b--',
  ]
  const { sections, metadata } = await read('eml', lines.join('\r\n'))
  assert.deepEqual(metadata, {
    title: 'Offer for May',
    from: 'Jürg <juerg@example.com>',
    to: 'Ann <ann@example.com>, bob@example.com',
    date: '2026-05-04T08:00:00.000Z',
  })
  const head = 'From: Jürg <juerg@example.com>\nTo: Ann <ann@example.com>, bob@example.com\nDate: 2026-05-04T08:00:00.000Z'
  assert.deepEqual(sections, [
    { heading: 'Offer for May', text: `${head}\n\nThe price is 9 EUR für all.\n\nAttachments:\n- offer.pdf (application/pdf)` },
  ])
})

test('pages of a PDF are numbered, and a PDF without text is said to be scanned', async () => {
  const { sections } = await read('pdf', makePdf(['One', '', 'Three']))
  assert.deepEqual(
    sections.map(({ page, text }) => [page, text]),
    [
      [1, 'One'],
      [2, ''],
      [3, 'Three'],
    ],
  )
  await assert.rejects(
    read('pdf', makePdf(['', ''])),
    /^Error: The document cannot be read as PDF: it has no text: it seems to be scanned \(2 pages\)$/,
  )
})

test('every place of a text is right, whatever line ends and white space a document has', async () => {
  await read('markdown', '---\r\ntitle: T\r\n---\r\n\r\n  Before.\r\n\r\nTitle\r\n=====\r\n  text \r\n\r\n## Next\r\n\r\nend\r\n')
  await read('text', '\n\n  text  \n')
  await read('html', '<h1>A</h1><pre>x\r\ny</pre><h2>B</h2><p>z')
  await read('docx', makeDocx(['# Zürich 😀', 'Text &amp; more', '# End', 'x']))
  await read(
    'xlsx',
    makeXlsx('Prices', [
      ['a', 1],
      ['b', 2],
    ]),
  )
})

test('packed documents are recognized by their content', () => {
  const files: [Buffer, string][] = [
    [makePptx('x', []), 'pptx'],
    [makeOdt(''), 'odt'],
    [makeEpub([]), 'epub'],
    [makeZip({ 'any.txt': 'x' }), 'text'],
  ]
  for (const [content, kind] of files) assert.equal(kindOf('download', content), kind)
})

test('a broken, protected or too large document is reported in words', async () => {
  const book = makeZip({
    'META-INF/container.xml': '<container><rootfile full-path="OPS/book.opf"/></container>',
    'META-INF/encryption.xml': '<encryption><CipherReference URI="OPS/text/chapter%200.xhtml"/></encryption>',
    'OPS/book.opf': '<package><item id="a" href="text/chapter%200.xhtml"/><itemref idref="a"/></package>',
  })
  const nested = (depth: number) => {
    const [outer, inner] = ['b'.repeat(depth), 'b'.repeat(depth + 1)]
    return `--${outer}\r\nContent-Type: multipart/mixed; boundary=${inner}\r\n\r\n`
  }
  const parts = Array.from({ length: 60 }, (_, depth) => nested(depth + 1))
  const broken: [(bytes: Buffer) => Promise<unknown>, string | Buffer, RegExp][] = [
    [readPptx, 'PK\x03\x04 nothing', /^Error: it is damaged, or of another format$/],
    [readPptx, makeZip({ 'a.xml': '<a/>' }), /^Error: it has no part ppt\/presentation\.xml$/],
    [readPptx, Buffer.from('d0cf11e0a1b11ae100', 'hex'), /^Error: it has a password, or the format of Office before 2007/],
    [readOdt, makeZip({ 'content.xml': 'no markup' }), /a part of it is not XML$/],
    [readOdt, makeZip({ 'content.xml': '<a/>', 'META-INF/manifest.xml': '<encryption-data/>' }), /it has a password/],
    [readOdt, makeZip({ 'content.xml': `${'<a>'.repeat(20_000)}x` }), /^Error: its elements are nested too deeply$/],
    [readEpub, book, /it is protected against copying$/],
    [readEpub, makeZip({ 'x.xml': '<a/>' }, 2_000_000_000), /it is damaged, or of another format$/],
    [readDocx, makeZip({ 'word/document.xml': `<a>${'<b>'.repeat(300_000)}` }), /^Error: its elements are nested too deeply$/],
    [
      readDocx,
      makeZip({ 'word/document.xml': '<a>&x;</a>', '[Content_Types].xml': '<a/>' }),
      /^Error: it is damaged, or of another format$/,
    ],
    [readXlsx, makeZip({ 'xl/workbook.xml': '<a' }), /^Error: it is damaged, or of another format$/],
    [readPdf, '%PDF-1.4 garbage', /^Error: it is damaged, or of another format$/],
    [readEml, '', /it has no header$/],
    [readEml, `Content-Type: multipart/mixed; boundary=b\r\n\r\n${parts.join('')}`, /^Error: it is damaged, or of another format$/],
  ]
  for (const [reader, content, message] of broken) await assert.rejects(reader(Buffer.from(content)), message)
  await assert.rejects(readDocumentBytes(book, 'epub'), /^Error: The document cannot be read as EPUB: it is protected against copying$/)
})
