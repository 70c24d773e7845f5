import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { contextOf } from '../../agent/react-fixture.ts'
import { openFilesRoot } from '../../files/root.ts'
import { createGuardedFetch, type Lookup } from '../../outbound/guarded-fetch.ts'
import type { ToolSpec } from '../builder.ts'
import { dependenciesOf } from '../dependencies-fixture.ts'
import { type PageLimits, createWebPage } from './web-page.ts'
import { startSite } from './web-fixture.ts'

const lookupLoopback: Lookup = (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }])

interface WebPageOptions {
  config?: ToolSpec['config']
  allowed?: string[]
  lookup?: Lookup
  limits?: Partial<PageLimits>
  maxOutputCharacters?: number
}

async function openTool(
  t: TestContext,
  { config = {}, allowed = ['127.0.0.0/8'], lookup = lookupLoopback, limits, maxOutputCharacters = 20_000 }: WebPageOptions = {},
) {
  const outbound = createGuardedFetch({ allowed, lookup })
  t.after(() => outbound.close())
  const deps = dependenciesOf({ files: await openFilesRoot(import.meta.dirname), cacheDir: import.meta.dirname, outbound })
  const built = createWebPage({ name: 'web_page', timeoutMs: 30_000, maxOutputCharacters, config }, deps, limits)
  t.after(() => built.close?.())
  return (url: string, signal = AbortSignal.timeout(30_000)): Promise<any> => built.tool.execute({ url }, contextOf({ signal }))
}

/** Answers each path with a type and a body. */
function site(t: TestContext, pages: Record<string, [type: string | undefined, body: string | Uint8Array]>) {
  return startSite(t, ({ url }, response) => {
    const page = pages[url]
    if (!page) return void response.writeHead(404).end('no')
    if (page[0] !== undefined) response.setHeader('content-type', page[0])
    response.end(page[1])
  })
}

const sentence = 'The quick brown fox jumps over the lazy dog while the bells of the town ring for the evening. '
const article = `<!doctype html><html lang="en"><head><title>On foxes</title><meta name="author" content="Ann Author">
<meta property="article:published_time" content="2024-05-06"><meta property="og:site_name" content="The Daily"></head><body>
<nav><a href="/">Home</a><a href="/more">More of our sections</a></nav>
<article><h1>On foxes</h1><p>${sentence.repeat(4)}</p><h2>Where they live</h2><p>In <a href="/woods">woods</a>. ${sentence.repeat(3)}</p>
<table><tr><th>Animal</th><th>Legs</th></tr><tr><td>Fox</td><td>4</td></tr></table><pre><code>fox()</code></pre></article>
<script>document.title = 'changed'</script><footer>Cookies and imprint</footer></body></html>`

test('a page is returned as Markdown with title, author, date and site, without menus and scripts', async (t) => {
  const { port } = await site(t, { '/foxes': ['text/html; charset=utf-8', article] })
  const read = await openTool(t)
  const { note, text, ...metadata } = await read(`http://site.example:${port}/foxes#where`)
  assert.match(note, /written by strangers.*never instructions/)
  assert.deepEqual(metadata, {
    url: `http://site.example:${port}/foxes`,
    title: 'On foxes',
    author: 'Ann Author',
    published: '2024-05-06',
    site: 'The Daily',
    language: 'en',
  })
  assert.match(text, /## Where they live/)
  assert.match(text, new RegExp(`\\[woods\\]\\(http://site\\.example:${port}/woods\\)`))
  assert.match(text, /\| Fox \| 4 \|/)
  assert.doesNotMatch(text, /More of our sections|Cookies|changed/)
})

test('text, Markdown and JSON are returned unchanged, and documents as text', async (t) => {
  const { origin } = await site(t, {
    '/a.md': ['text/markdown', '# Title\n\nText'],
    '/a.json': ['application/json', '{"a":1}'],
    '/a.txt': ['text/plain', 'plain'],
    '/none': [undefined, 'nothing said'],
    '/a.pdf': ['application/octet-stream', pdfOf('Hello from a PDF')],
    '/lie.txt': ['text/plain', article],
  })
  const read = await openTool(t)
  assert.deepEqual(pick(await read(`${origin}/a.md`)), ['text/markdown', '# Title\n\nText'])
  assert.deepEqual(pick(await read(`${origin}/a.json`)), ['application/json', '{"a":1}'])
  assert.deepEqual(pick(await read(`${origin}/a.txt`)), ['text/plain', 'plain'])
  assert.deepEqual(pick(await read(`${origin}/none`)), [undefined, 'nothing said'])
  assert.match((await read(`${origin}/a.pdf`)).text, /Hello from a PDF/)
  assert.equal((await read(`${origin}/lie.txt`)).title, 'On foxes')
})

function pick({ content_type, text }: { content_type?: string; text: string }) {
  return [content_type, text]
}

test('a page is decoded with its declared encoding', async (t) => {
  const shift = Buffer.concat([
    Buffer.from('<html><head><meta charset="Shift_JIS"></head><body><p>'),
    Buffer.from([0x82, 0xb1, 0x82, 0xf1]),
    Buffer.from('</p></body></html>'),
  ])
  const { origin } = await site(t, {
    '/latin': ['text/html; charset=iso-8859-1', Buffer.from('<html><body><p>Grüße</p></body></html>', 'latin1')],
    '/meta': [
      'text/html',
      Buffer.from(
        '<html><head><meta http-equiv="content-type" content="text/html; charset=windows-1252"></head><body><p>Grüße “x”</p></body></html>'.replace(
          /[“”]/g,
          '"',
        ),
        'latin1',
      ),
    ],
    '/shift': ['text/html', shift],
    '/mark': ['text/html', Buffer.from('\uFEFF<html><body><p>Grüße</p></body></html>', 'utf16le')],
  })
  const read = await openTool(t)
  assert.equal((await read(`${origin}/latin`)).text, 'Grüße')
  assert.match((await read(`${origin}/meta`)).text, /Grüße/)
  assert.equal((await read(`${origin}/shift`)).text, 'こん')
  assert.equal((await read(`${origin}/mark`)).text, 'Grüße')
})

test('a page or file without text is refused with a reason', async (t) => {
  const { origin } = await site(t, {
    '/image': ['image/png', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0])],
    '/lie': ['text/html', Buffer.from([0, 1, 2, 3, 0, 5])],
    '/zip': ['application/zip', Buffer.from('PK\x03\x04rest')],
    '/app': ['text/html', '<html><body><div id="root"></div><script src="app.js"></script></body></html>'],
    '/broken.pdf': ['application/pdf', '%PDF-1.7 broken'],
  })
  const read = await openTool(t)
  await assert.rejects(read(`${origin}/image`), /is image\/png: only pages, texts and documents/)
  await assert.rejects(read(`${origin}/lie`), /only pages, texts and documents/)
  await assert.rejects(read(`${origin}/zip`), /only pages, texts and documents/)
  await assert.rejects(read(`${origin}/app`), /made by scripts/)
  await assert.rejects(read(`${origin}/broken.pdf`), /^Error: The document cannot be read: /)
  await assert.rejects(read(`${origin}/missing`), /answered 404: there is no such page\.$/)
})

test('only public and allowed hosts are read, at every redirect and in any notation', async (t) => {
  const inside = await startSite(t, (_, response) => response.end('inside'))
  const targets = ['http://127.0.0.1', 'http://2130706433', 'http://[::ffff:127.0.0.1]', 'http://0x7f000001'].map(
    (host) => `${host}:${inside.port}/`,
  )
  const { port } = await startSite(t, ({ url }, response) =>
    response.writeHead(302, { location: targets[Number(url.slice(1))] ?? 'http://169.254.169.254/' }).end(),
  )
  const read = await openTool(t, { allowed: ['site.example'] })
  for (const at of [0, 1, 2, 3, 4])
    await assert.rejects(read(`http://site.example:${port}/${at}`), { message: 'There is no public host of this name.' })
  for (const url of targets) await assert.rejects(read(url), { message: 'There is no public host of this name.' }, url)
  const both: Lookup = (_host, _options, done) =>
    done(
      null,
      ['93.184.216.34', '127.0.0.1'].map((address) => ({ address, family: 4 })),
    )
  const rebound = await openTool(t, { allowed: [], lookup: both })
  await assert.rejects(rebound(`http://both.example:${inside.port}/`), { message: 'There is no public host of this name.' })
  assert.deepEqual(inside.requests, [])
  const limited = await openTool(t, { config: { allowed_hosts: ['good.example'] } })
  await assert.rejects(limited(`http://other.example:${port}/`), /is not one of the hosts/)
})

test('a long page is cut to the output limit as valid JSON and marked as cut', async (t) => {
  const { origin } = await site(t, { '/long': ['text/plain', '"\n'.repeat(50_000)] })
  const read = await openTool(t, { maxOutputCharacters: 5_000 })
  const output = await read(`${origin}/long`)
  assert.ok(JSON.stringify(output).length <= 5_000)
  assert.deepEqual({ total_characters: output.total_characters, is_cut: output.is_cut }, { total_characters: 100_000, is_cut: true })
})

test('hostile pages do not affect later ones: endless, decompression bombs, deeply nested, slow to parse', async (t) => {
  const deep = '<div>'.repeat(1_000_000)
  const bomb = gzipSync(Buffer.alloc(100_000_000, '<p>a '))
  const { origin } = await startSite(t, ({ url }, response) => {
    response.setHeader('content-type', 'text/html')
    if (url === '/deep') return void response.end(deep)
    if (url === '/attributes') return void response.end(`<html><body><p ${'a=b '.repeat(800_000)}>x</p></body></html>`)
    if (url === '/open') return void response.end(`<html><body>${'<a href="'.repeat(400_000)}`)
    if (url === '/bomb') return void response.setHeader('content-encoding', 'gzip').end(bomb)
    if (url === '/fine') return void response.end(article)
    const write = () => {
      while (!response.destroyed && response.write('<p>endless</p>'.repeat(5000)));
      if (!response.destroyed) response.once('drain', write)
    }
    write()
  })
  const read = await openTool(t, { limits: { pageMs: 3_000 } })
  for (const path of ['/deep', '/attributes', '/open', '/bomb', '/endless']) {
    const end = await read(`${origin}${path}`).then(
      ({ text }: { text: string }) => `read ${text.length}`,
      (error: Error) => error.message,
    )
    assert.match(
      end,
      /^read \d+$|^The page cannot be read: (it took longer than 3 s|it needs too much memory|its elements are nested too deeply)\.$|has no text/,
      path,
    )
  }
  assert.equal((await read(`${origin}/fine`)).title, 'On foxes')
})

test('a cancelled call closes the connection to the server', async (t) => {
  const closed = Promise.withResolvers<void>()
  const { origin } = await startSite(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).write('<p>')
    void once(response, 'close').then(() => closed.resolve())
  })
  const read = await openTool(t)
  await assert.rejects(read(`${origin}/`, AbortSignal.timeout(200)), { name: 'TimeoutError' })
  await closed.promise
})

function pdfOf(text: string): string {
  const stream = `BT /F1 24 Tf 72 700 Td (${text}) Tj ET`
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ]
  return `%PDF-1.4\n${objects.map((object, at) => `${at + 1} 0 obj\n${object}\nendobj\n`).join('')}trailer\n<< /Root 1 0 R >>\n%%EOF`
}

test('an entry with the effect write says so of its pages', async (t) => {
  const deps = dependenciesOf({ files: await openFilesRoot(import.meta.dirname), cacheDir: import.meta.dirname })
  const isSafe = (effect: 'read' | 'write') => {
    const { tool, close } = createWebPage({ name: 'web_page', timeoutMs: 1, maxOutputCharacters: 1, config: {}, effect }, deps)
    t.after(() => close?.())
    return tool.destinationOf?.({ url: 'http://a/' }).isSafe
  }
  assert.deepEqual([isSafe('read'), isSafe('write')], [true, false])
})
