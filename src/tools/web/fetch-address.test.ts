import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { test, type TestContext } from 'node:test'
import { createGzip, gzipSync } from 'node:zlib'
import { createGuardedFetch, type Lookup } from '../../outbound/guarded-fetch.ts'
import { fetchAddress, type AddressRequest, parseHost } from './fetch-address.ts'
import { startSite } from './web-fixture.ts'

const lookupLoopback: Lookup = (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }])

function openFetch(t: TestContext, allowed: string[], lookup: Lookup = lookupLoopback) {
  const outbound = createGuardedFetch({ allowed, lookup })
  t.after(() => outbound.close())
  return (url: string, request: Partial<AddressRequest> = {}) =>
    fetchAddress(outbound, { maxBytes: 10_000, signal: AbortSignal.timeout(5000), ...request, url })
}

test('an address named by a model is fetched from public and allowed hosts', async (t) => {
  const site = await startSite(t, (_, response) => response.writeHead(201, { 'x-kind': 'page' }).end('hello'))
  const fetch = openFetch(t, ['site.example'])
  const answer = await fetch(`http://site.example:${site.port}/a?b=c#d`, { method: 'POST', body: 'text', headers: { accept: 'text/html' } })
  assert.equal(answer.status, 201)
  assert.equal(answer.headers.get('x-kind'), 'page')
  assert.equal(Buffer.from(answer.bytes).toString(), 'hello')
  assert.equal(answer.isCut, false)
  assert.equal(answer.url, `http://site.example:${site.port}/a?b=c`)
  const [received] = site.requests
  assert.deepEqual({ method: received?.method, url: received?.url, body: received?.body }, { method: 'POST', url: '/a?b=c', body: 'text' })
  assert.deepEqual([received?.headers['accept'], received?.headers['user-agent']], ['text/html', 'agent-core'])
})

test('an internal address, in any notation, is refused with the same message as an unknown host', async (t) => {
  const site = await startSite(t, (_, response) => response.end('inside'))
  const unknown: Lookup = (_host, _options, done) => done(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), [])
  const refused = { name: 'FetchRefused', message: 'There is no public host of this name.' }
  for (const host of ['127.0.0.1', '2130706433', '0x7f.1', '0177.0.0.1', '127.1', '[::1]', '[::ffff:7f00:1]', 'inside.example']) {
    await assert.rejects(openFetch(t, [])(`http://${host}:${site.port}/`), refused, host)
  }
  await assert.rejects(openFetch(t, [], unknown)('http://nowhere.example/'), refused)
  assert.deepEqual(site.requests, [])
})

test('an address that is not http or contains a user is refused before any request', async (t) => {
  const site = await startSite(t, (_, response) => response.end('hello'))
  const fetch = openFetch(t, ['127.0.0.1'])
  for (const url of ['file:///etc/passwd', 'gopher://x/1', 'data:text/plain,hello', 'ftp://x/', 'no address', '//x/', 'blob:http://x/1']) {
    await assert.rejects(fetch(url), { message: 'url must be an http or https address.' }, url)
  }
  await assert.rejects(fetch(`http://user:password@127.0.0.1:${site.port}/`), /user or password/)
  assert.deepEqual(site.requests, [])
})

test('only allowed hosts are fetched, and a redirect to another host is not followed', async (t) => {
  const otherSite = await startSite(t, (_, response) => response.end('other'))
  const site = await startSite(t, (_, response) => response.writeHead(302, { location: `http://other.example:${otherSite.port}/` }).end())
  const fetch = openFetch(t, ['127.0.0.0/8'])
  const allowedHosts = [parseHost('good.example'), parseHost('*.sub.example')]
  await assert.rejects(fetch(`http://other.example:${otherSite.port}/`, { allowedHosts }), /other.example:\d+ is not one of the hosts/)
  await assert.rejects(fetch(`http://sub.example:${otherSite.port}/`, { allowedHosts }), /is not one of the hosts/)
  await assert.rejects(fetch(`http://good.example:${site.port}/`, { allowedHosts }), /other.example:\d+ is not one of the hosts/)
  assert.equal((await fetch(`http://a.sub.example.:${otherSite.port}/`, { allowedHosts })).status, 200)
  assert.deepEqual([site.requests.length, otherSite.requests.length], [1, 1])
})

test('redirects are followed to public addresses only, at most five times, and never to another scheme', async (t) => {
  const targets: Record<string, string> = {
    '/inside': 'http://169.254.169.254/latest/meta-data/',
    '/file': 'file:///etc/passwd',
    '/data': 'data:text/plain,hello',
    '/gopher': 'gopher://127.0.0.1/',
    '/user': 'http://user:password@site.example/',
    '/loop': '/loop',
    '/fine': '/end',
  }
  const site = await startSite(t, ({ url }, response) => {
    const location = targets[url]
    if (location) response.writeHead(302, { location }).end()
    else response.end('the end')
  })
  const fetch = openFetch(t, ['site.example'])
  const at = (path: string) => fetch(`http://site.example:${site.port}${path}`)
  await assert.rejects(at('/inside'), { message: 'There is no public host of this name.' })
  for (const path of ['/file', '/data', '/gopher']) await assert.rejects(at(path), { message: /could not be fetched from/ }, path)
  await assert.rejects(at('/user'), /user or password/)
  await assert.rejects(at('/loop'), /redirects too often/)
  assert.equal(site.requests.filter(({ url }) => url === '/loop').length, 6)
  const answer = await at('/fine')
  assert.deepEqual(
    { from: Buffer.from(answer.bytes).toString(), url: answer.url },
    { from: 'the end', url: `http://site.example:${site.port}/end` },
  )
})

test('headers for a host are sent to that host only, win over headers of the model, and stop after another origin', async (t) => {
  const otherSite = await startSite(t, (_, response) =>
    response.writeHead(302, { location: `http://site.example:${site.port}/back` }).end(),
  )
  const site = await startSite(t, ({ url }, response) => {
    if (url === '/back') response.end('back')
    else response.writeHead(307, { location: url === '/' ? '/next' : `http://other.example:${otherSite.port}/` }).end()
  })
  const fetch = openFetch(t, ['127.0.0.0/8'])
  const headersFor = (url: URL): Record<string, string> => (url.hostname === 'site.example' ? { 'x-key': 'secret' } : {})
  await fetch(`http://site.example:${site.port}/`, { headers: { 'X-Key': 'mine', 'x-more': 'm' }, headersFor, method: 'POST', body: 'b' })
  const receivedHeaders = site.requests.map(({ url, headers }) => [url, headers['x-key'], headers['x-more']])
  assert.deepEqual(receivedHeaders, [
    ...[
      ['/', 'secret', 'm'],
      ['/next', 'secret', 'm'],
    ],
    ['/back', undefined, undefined],
  ])
  assert.deepEqual([otherSite.requests[0]?.headers['x-key'], otherSite.requests[0]?.headers['x-more']], [undefined, undefined])
  assert.deepEqual({ method: otherSite.requests[0]?.method, body: otherSite.requests[0]?.body }, { method: 'POST', body: 'b' })
})

test('a body is read up to the limit, including decompression bombs and endless bodies', async (t) => {
  const bomb = gzipSync(gzipSync(Buffer.alloc(64 * 1024 * 1024)))
  const site = await startSite(t, ({ url }, response) => {
    if (url === '/bomb') return void response.writeHead(200, { 'content-encoding': 'gzip, gzip' }).end(bomb)
    const out = url === '/endless-gzip' ? createGzip() : response
    response.writeHead(200, url === '/endless-gzip' ? { 'content-encoding': 'gzip' } : {})
    if (out !== response) out.pipe(response)
    const write = () => {
      while (!response.destroyed && out.write(Buffer.alloc(65_536)));
      if (!response.destroyed) out.once('drain', write)
    }
    write()
  })
  const fetch = openFetch(t, ['site.example'])
  const before = process.memoryUsage().rss
  for (const path of ['/bomb', '/endless', '/endless-gzip']) {
    const { bytes, isCut } = await fetch(`http://site.example:${site.port}${path}`)
    assert.deepEqual({ byteLength: bytes.byteLength, isCut }, { byteLength: 10_000, isCut: true }, path)
  }
  assert.ok(process.memoryUsage().rss - before < 48 * 1024 * 1024)
})

test('a request to a silent or slow server is aborted at the time limit', async (t) => {
  const server = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.write('HTTP/1.1 200 OK\r\n')
    const drip = setInterval(() => socket.write('x'), 20)
    socket.on('close', () => clearInterval(drip))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const fetch = openFetch(t, ['127.0.0.1'])
  const { port } = server.address() as net.AddressInfo
  await assert.rejects(fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(200) }), { name: 'TimeoutError' })
})
