import assert from 'node:assert/strict'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { makeFolder } from '../fixtures/process.ts'
import { startService } from '../fixtures/service.ts'

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <base href="/console/" />
    <meta name="csp-nonce" content="" />
    <script type="module" src="./assets/index-B1x2.js"></script>
  </head>
  <body><div id="root"></div></body>
</html>
`
const script = `console.log(${JSON.stringify('hello '.repeat(200))})\n`

async function makeBundle(t: TestContext): Promise<string> {
  const folder = await makeFolder(t)
  await mkdir(path.join(folder, 'assets'))
  const files: Record<string, string | Uint8Array> = {
    'index.html': page,
    'icon.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
    'assets/index-B1x2.js': script,
    'assets/index-B1x2.js.br': brotliCompressSync(script),
    'assets/index-B1x2.js.gz': gzipSync(script),
    'assets/index-B1x2.js.map': '{}',
    'assets/small-Zz9.css': 'a{}',
  }
  for (const [name, content] of Object.entries(files)) await writeFile(path.join(folder, name), content)
  return folder
}

async function start(t: TestContext, environment: Record<string, string> = {}) {
  const folder = await makeBundle(t)
  const { url } = await startService(t, { script: {}, consoleFolder: folder, environment })
  return { url, folder }
}

interface RawReply {
  status: number
  headers: Record<string, string | string[] | undefined>
  bytes: Buffer
  text: string
}

/** Sends a request as it is: `fetch` would resolve dot segments, decompress, and follow redirects. */
function get(url: string, target: string, headers: Record<string, string> = {}, method = 'GET'): Promise<RawReply> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const request = httpRequest({ hostname, port, path: target, method, headers }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.on('end', () => {
        const bytes = Buffer.concat(parts)
        resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes, text: bytes.toString() })
      })
    })
    request.on('error', reject).end()
  })
}

const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const baseOf = ({ text }: RawReply) => /<base href="([^"]*)"/.exec(text)?.[1]
const nonceOf = ({ text }: RawReply) => /<meta name="csp-nonce" content="([^"]*)"/.exec(text)?.[1]

test('Console: each path below /console/ that is no file gets the page, with a nonce and a policy of its own', async (t) => {
  const { url } = await start(t)
  const nonces = new Set<string>()
  for (const target of ['/console/', '/console/chat/a.b:c', '/console/runs?status=error', '/console/index.html', '/console/chat/']) {
    const reply = await get(url, target)
    assert.equal(reply.status, 200, target)
    assert.equal(baseOf(reply), '/console/')
    const nonce = nonceOf(reply)!
    assert.match(nonce, /^[\w-]{22}$/)
    nonces.add(nonce)
    assert.equal(reply.text.match(/<base /g)?.length, 1)
    assert.equal(reply.text.match(/csp-nonce/g)?.length, 1)
    assert.match(reply.text, /src="\.\/assets\/index-B1x2\.js"/)
    assert.equal(
      reply.headers['content-security-policy'],
      `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' blob: data:; connect-src 'self'; font-src 'self'; frame-src blob:; frame-ancestors 'none'; base-uri 'self'; form-action 'self'`,
    )
    assert.equal(reply.headers['content-type'], 'text/html; charset=utf-8')
    assert.equal(reply.headers['cache-control'], 'no-store')
    assert.equal(reply.headers['x-content-type-options'], 'nosniff')
    assert.equal(reply.headers['referrer-policy'], 'same-origin')
    assert.equal(reply.headers['cross-origin-opener-policy'], 'same-origin')
    assert.equal(reply.headers['strict-transport-security'], undefined)
  }
  assert.equal(nonces.size, 5)
  assert.deepEqual([(await get(url, '/console/', {}, 'HEAD')).status, (await get(url, '/console/', {}, 'HEAD')).bytes.length], [200, 0])
  const refused = await get(url, '/console/chat', {}, 'DELETE')
  assert.deepEqual([refused.status, refused.headers['allow']], [405, 'GET, HEAD'])
})

test('Console: files are immutable, compressed as the client accepts, and answered with 304', async (t) => {
  const { url } = await start(t)
  const file = '/console/assets/index-B1x2.js'
  const etags = new Set<unknown>()
  for (const [accepted, encoding, unpack] of [
    ['gzip, deflate, br, zstd', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['br;q=0, GZIP;q=0.5', 'gzip', gunzipSync],
    ['identity', undefined, (bytes: Buffer) => bytes],
    ['', undefined, (bytes: Buffer) => bytes],
  ] as const) {
    const reply = await get(url, file, { 'accept-encoding': accepted })
    assert.deepEqual([reply.status, reply.headers['content-encoding']], [200, encoding], accepted)
    assert.equal(unpack(reply.bytes).toString(), script)
    assert.equal(reply.headers['content-length'], String(reply.bytes.length))
    assert.equal(reply.headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.equal(reply.headers['vary'], 'accept-encoding')
    assert.equal(reply.headers['content-type'], 'text/javascript; charset=utf-8')
    assert.equal(reply.headers['x-content-type-options'], 'nosniff')
    etags.add(reply.headers['etag'])
    const again = await get(url, file, { 'accept-encoding': accepted, 'if-none-match': `"other", W/${String(reply.headers['etag'])}` })
    assert.deepEqual([again.status, again.bytes.length, again.headers['etag']], [304, 0, reply.headers['etag']])
  }
  assert.equal(etags.size, 3)
  const small = await get(url, '/console/assets/small-Zz9.css', { 'accept-encoding': 'br' })
  assert.deepEqual([small.status, small.text, small.headers['vary']], [200, 'a{}', undefined])
  const icon = await get(url, '/console/icon.svg')
  assert.deepEqual([icon.status, icon.headers['content-type'], icon.headers['cache-control']], [200, 'image/svg+xml', 'no-cache'])
})

test('Console: no path of a request reaches the disk', async (t) => {
  const { url, folder } = await start(t)
  await writeFile(path.join(folder, 'assets/later.js'), 'secret')
  const refused = [
    'later.js',
    'index-B1x2.js.map',
    'index-B1x2.js.br',
    '../../package.json',
    '..%2f..%2fpackage.json',
    '%2e%2e/index.html',
    '%00',
  ]
  for (const name of refused) {
    const reply = await get(url, `/console/assets/${name}`)
    assert.equal(reply.status, 404, name)
    assert.equal(JSON.parse(reply.text).details.error_type, 'NotFound')
  }
  const above = await get(url, '/console/../package.json')
  assert.doesNotMatch(above.text, /"dependencies"/)
  // A newer build replaces the files of a running service.
  await rm(path.join(folder, 'assets'), { recursive: true })
  assert.equal((await get(url, '/console/assets/index-B1x2.js')).status, 404)
})

test('Console: browsers are led to /console/ with its slash', async (t) => {
  const { url } = await start(t)
  const bare = await get(url, '/console?code=1&state=2')
  assert.deepEqual([bare.status, bare.headers['location'], bare.headers['cache-control']], [302, '/console/?code=1&state=2', 'no-store'])
  assert.equal((await get(url, '/console')).headers['location'], '/console/')
  const root = await get(url, '/', browser)
  assert.deepEqual([root.status, root.headers['location'], root.headers['vary']], [302, '/console/', 'accept'])
  for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }] as Record<string, string>[]) {
    const reply = await get(url, '/', headers)
    assert.deepEqual([reply.status, JSON.parse(reply.text).body], [404, 'There is no GET /.'])
  }
  assert.equal((await get(url, '/', browser, 'POST')).status, 404)
})

test('Console: without a build the answer names the command that builds', async (t) => {
  const { url } = await startService(t, { script: {}, consoleFolder: path.join(await makeFolder(t), 'none') })
  for (const target of ['/console/', '/console/chat', '/console/assets/x.js']) {
    const reply = await get(url, target)
    assert.equal(reply.status, 503, target)
    const { body, status_code, details } = JSON.parse(reply.text)
    assert.match(body, /"npm run build"/)
    assert.deepEqual([status_code, details.error_type], [503, 'ConsoleNotBuilt'])
  }
  const shown = await get(url, '/console/', browser)
  assert.deepEqual(
    [shown.status, shown.headers['content-type'], shown.headers['cache-control']],
    [503, 'text/html; charset=utf-8', 'no-store'],
  )
  assert.match(shown.text, /npm run build/)
})

test('Console: a prefix is stated in the page, whether or not the proxy strips it, and works for every route', async (t) => {
  const { url } = await start(t)
  const forwarded = { 'x-forwarded-prefix': '/team/agents' }
  for (const target of ['/console/chat', '/team/agents/console/chat'])
    assert.equal(baseOf(await get(url, target, forwarded)), '/team/agents/console/')
  assert.equal((await get(url, '/team/agents/console/assets/small-Zz9.css', forwarded)).text, 'a{}')
  assert.equal((await get(url, '/team/agents/console', forwarded)).headers['location'], '/team/agents/console/')
  for (const target of ['/', '/team/agents', '/team/agents/'])
    assert.equal((await get(url, target, { ...forwarded, ...browser })).headers['location'], '/team/agents/console/', target)
  for (const target of ['/health', '/team/agents/health']) assert.equal((await get(url, target, forwarded)).status, 200, target)
  assert.equal((await get(url, '/team/agents/core/v1/tools', forwarded)).status, 401)
  assert.equal((await get(url, '/team/agents/v1/models', forwarded)).status, 401)
  assert.equal((await get(url, '/team/agentsmith/health', forwarded)).status, 404)
  assert.equal((await get(url, '/team/agents/health')).status, 404)
})

test('Console: the path of PUBLIC_URL wins over the header', async (t) => {
  const { url } = await start(t, { PUBLIC_URL: 'https://example.org/own/' })
  const forwarded = { 'x-forwarded-prefix': '/other' }
  for (const target of ['/console/', '/own/console/']) assert.equal(baseOf(await get(url, target, forwarded)), '/own/console/')
  assert.equal((await get(url, '/other/health', forwarded)).status, 404)
  assert.equal((await get(url, '/own', browser)).headers['location'], '/own/console/')
})

test('Console: a forged prefix has no effect', async (t) => {
  const { url } = await start(t)
  for (const prefix of [
    '//evil.example',
    '/..',
    '/a/../b',
    '/.',
    '/"><script>',
    "/a'",
    '/a b',
    'https://evil.example',
    '/a/',
    '/a%0d%0ab',
    '/a, /b',
  ]) {
    const headers = { 'x-forwarded-prefix': prefix }
    assert.equal(baseOf(await get(url, '/console/', headers)), '/console/', prefix)
    assert.equal((await get(url, '/', { ...headers, ...browser })).headers['location'], '/console/', prefix)
  }
})
