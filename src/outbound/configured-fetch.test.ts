import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { createGuardedFetch, type Lookup } from './guarded-fetch.ts'

interface Asked {
  method: string
  url: string
  headers: http.IncomingHttpHeaders
  body: string
}

const here: Lookup = (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }])

/** `answer` says where to, and how. */
async function site(t: TestContext, answer: (url: string) => { status?: number; location?: string } | undefined) {
  const asked: Asked[] = []
  async function serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const { method = '', url = '', headers, httpVersion } = request
    asked.push({ method, url, headers, body: Buffer.concat(pieces).toString() })
    const { status = 302, location } = answer(url) ?? {}
    if (location === undefined) response.end(`HTTP/${httpVersion}`)
    else response.writeHead(status, { location }).end()
  }
  const server = http.createServer((request, response) => void serve(request, response).catch(() => response.destroy()))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { asked, port, origin: `http://127.0.0.1:${port}` }
}

function configured(t: TestContext, allowed: string[] = []) {
  const one = createGuardedFetch({ allowed, lookup: here })
  t.after(() => one.close())
  return one.fetchConfigured
}

const secrets = { authorization: 'Bearer s', cookie: 'c=1', 'x-api-key': 'k', 'stix-user': 'ann', 'proxy-authorization': 'p' }

function secretsIn(asked: Asked | undefined): string[] {
  return Object.keys(secrets).filter((name) => asked?.headers[name] !== undefined)
}

test('a configured internal address is reached over HTTP/1.1, and redirects on its own origin keep all headers', async (t) => {
  const own = await site(t, (url) => (url === '/a' ? { location: 'b' } : undefined))
  const fetch = configured(t)
  const response = await fetch(`${own.origin}/a`, { headers: secrets })
  assert.equal(await response.text(), 'HTTP/1.1')
  assert.equal(response.url, `${own.origin}/b`)
  assert.deepEqual(own.asked.map(secretsIn), [Object.keys(secrets), Object.keys(secrets)])
})

test('a redirect to an internal address that is not configured is refused', async (t) => {
  const inside = await site(t, () => undefined)
  const own = await site(t, () => ({ location: `${inside.origin}/` }))
  const fetch = configured(t)
  await assert.rejects(fetch(own.origin, { headers: secrets }), (error: Error) => (error.cause as { code?: string }).code === 'EREFUSED')
  assert.deepEqual(inside.asked, [])
})

test('another origin gets no secrets, and neither does the first origin after a redirect back', async (t) => {
  const other = await site(t, (url) => (url === '/back' ? { location: `${own.origin}/end` } : undefined))
  const own = await site(t, (url) => {
    if (url === '/end') return undefined
    return { location: url === '/out' ? `${other.origin}/` : `${other.origin}/back` }
  })
  const fetch = configured(t, ['127.0.0.1'])
  const headers = { ...secrets, accept: 'application/json' }
  assert.equal((await fetch(`${own.origin}/out`, { headers })).status, 200)
  assert.deepEqual(
    { secretsIn: secretsIn(other.asked[0]), accept: other.asked[0]?.headers['accept'] },
    { secretsIn: [], accept: 'application/json' },
  )
  assert.equal((await fetch(`${own.origin}/there`, { headers })).status, 200)
  assert.deepEqual(own.asked.map(secretsIn), [Object.keys(secrets), Object.keys(secrets), []])
})

test('a redirect back from another origin is checked like an external address', async (t) => {
  const other = await site(t, () => ({ location: `${own.origin}/end` }))
  const own = await site(t, (url) => (url === '/end' ? undefined : { location: `http://127.0.0.1:${other.port}/` }))
  const fetch = configured(t, [`127.0.0.1:${other.port}`])
  await assert.rejects(fetch(`${own.origin}/`), (error: Error) => (error.cause as { code?: string }).code === 'EREFUSED')
  assert.deepEqual(
    own.asked.map(({ url }) => url),
    ['/'],
  )
})

test('method and body change on redirects by the fetch standard', async (t) => {
  const cases = [
    [301, 'POST', 'GET', ''],
    [302, 'POST', 'GET', ''],
    [303, 'POST', 'GET', ''],
    [303, 'PUT', 'GET', ''],
    [302, 'PUT', 'PUT', 'body'],
    [307, 'POST', 'POST', 'body'],
    [308, 'DELETE', 'DELETE', 'body'],
  ] as const
  for (const [status, method, after, body] of cases) {
    const own = await site(t, (url) => (url === '/' ? { status, location: '/end' } : undefined))
    await configured(t)(`${own.origin}/`, { method, body: 'body', headers: { 'content-type': 'text/plain' } })
    const last = own.asked.at(-1)
    const type = body === '' ? undefined : 'text/plain'
    assert.deepEqual([last?.method, last?.body, last?.headers['content-type']], [after, body, type], `${status} ${method}`)
  }
  const own = await site(t, (url) => (url === '/' ? { status: 303, location: '/end' } : undefined))
  await configured(t)(`${own.origin}/`, { method: 'HEAD' })
  assert.equal(own.asked.at(-1)?.method, 'HEAD')
})

test('a body that is a stream is sent once', async (t) => {
  const own = await site(t, (url) => (url === '/' ? { status: 307, location: '/end' } : undefined))
  const fetch = configured(t)
  const body = () => new Blob(['streamed']).stream()
  assert.equal((await fetch(`${own.origin}/end`, { method: 'POST', body: body(), duplex: 'half' })).status, 200)
  assert.equal(own.asked[0]?.body, 'streamed')
  await assert.rejects(fetch(`${own.origin}/`, { method: 'POST', body: body(), duplex: 'half' }), { message: 'fetch failed' })
  assert.deepEqual(
    own.asked.map(({ url }) => url),
    ['/end', '/'],
  )
})

test('redirect loops end, and only http addresses are followed', async (t) => {
  const own = await site(t, (url) => ({ location: url === '/' ? '/' : url === '/none' ? 'http://' : `${url.slice(1)}:x` }))
  const fetch = configured(t)
  await assert.rejects(fetch(`${own.origin}/`), (error: Error) => (error.cause as Error).message === 'too many redirects')
  assert.equal(own.asked.length, 6)
  for (const path of ['none', 'data', 'file', 'blob'])
    await assert.rejects(fetch(`${own.origin}/${path}`), { message: 'fetch failed' }, path)
})

test('redirect modes manual and error return the redirect or fail', async (t) => {
  const own = await site(t, () => ({ location: '/end' }))
  const fetch = configured(t)
  assert.equal((await fetch(own.origin, { redirect: 'manual' })).status, 302)
  await assert.rejects(fetch(own.origin, { redirect: 'error' }), (error: Error) => (error.cause as Error).message === 'unexpected redirect')
  assert.equal(own.asked.length, 2)
})
