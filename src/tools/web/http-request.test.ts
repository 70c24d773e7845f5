import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { contextOf } from '../../agent/react-fixture.ts'
import type { ToolContext } from '../../agent/tool.ts'
import { openFilesRoot } from '../../files/root.ts'
import { createGuardedFetch, type Lookup } from '../../outbound/guarded-fetch.ts'
import type { ToolSpec } from '../builder.ts'
import { dependenciesOf } from '../dependencies-fixture.ts'
import { createHttpRequest } from './http-request.ts'
import { startSite } from './web-fixture.ts'

const lookupLoopback: Lookup = (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }])

interface HttpRequestOptions {
  environment?: Record<string, string>
  allowed?: string[]
  spec?: Partial<ToolSpec>
}

async function openTool(
  t: TestContext,
  config: ToolSpec['config'],
  { environment = {}, allowed = ['127.0.0.0/8'], spec }: HttpRequestOptions = {},
) {
  const outbound = createGuardedFetch({ allowed, lookup: lookupLoopback })
  t.after(() => outbound.close())
  const files = await openFilesRoot(import.meta.dirname)
  const deps = dependenciesOf({ files, cacheDir: import.meta.dirname, environment, outbound })
  const { tool } = createHttpRequest({ name: 'http_request', timeoutMs: 5000, maxOutputCharacters: 4000, config, ...spec }, deps)
  const ask = async (input: Record<string, string | Record<string, string>>, context: Partial<ToolContext> = {}): Promise<any> => {
    assert.equal(tool.check(input), undefined)
    return tool.execute(input, contextOf({ callId: 'call-7', ...context }))
  }
  return { tool, ask }
}

test('a request is sent as the model wrote it, and a JSON response is returned as data', async (t) => {
  const site = await startSite(t, (_, response) =>
    response.writeHead(201, { 'content-type': 'application/json', location: '/things/1', 'x-other': 'o' }).end('{"id":1}'),
  )
  const { tool, ask } = await openTool(t, {})
  const body = '{"name":"x"}'
  const output = await ask({ method: 'POST', url: `http://a.example:${site.port}/things?x=1`, headers: { 'X-Trace': 't' }, body })
  assert.deepEqual(output, { status: 201, headers: { location: '/things/1' }, content_type: 'application/json', body: { id: 1 } })
  const [received] = site.requests
  assert.deepEqual({ method: received?.method, url: received?.url, body: received?.body }, { method: 'POST', url: '/things?x=1', body })
  assert.equal(received?.headers['content-type'], 'application/json')
  assert.equal(received?.headers['x-trace'], 't')
  assert.equal(received?.headers['idempotency-key'], 'call-7')
  assert.equal(tool.effect, 'write')
})

test('a tool configured for GET and HEAD only reads, and takes no other method and no body', async (t) => {
  const site = await startSite(t, (_, response) => response.writeHead(404, { 'content-type': 'text/plain' }).end('nothing here'))
  const { tool, ask } = await openTool(t, { methods: ['GET', 'HEAD'] })
  assert.equal(tool.effect, 'read')
  assert.equal(tool.check({ method: 'DELETE', url: site.origin }), 'method must be one of GET, HEAD')
  assert.equal(tool.check({ method: 'GET', url: site.origin, body: 'b' }), 'body is not a parameter')
  assert.deepEqual(await ask({ method: 'GET', url: site.origin }), { status: 404, content_type: 'text/plain', body: 'nothing here' })
  assert.deepEqual(await ask({ method: 'HEAD', url: site.origin }), { status: 404 })
  assert.equal(site.requests[0]?.headers['idempotency-key'], undefined)
})

test('secrets are sent to their host only, win over headers of the model, and are masked in the response', async (t) => {
  const echo = await startSite(t, ({ headers }, response) =>
    response.writeHead(200, { 'content-type': 'application/json', link: `<${String(headers['x-key'])}>` }).end(JSON.stringify(headers)),
  )
  const host = `a.example:${echo.port}`
  const config = { headers: { [host]: { Authorization: 'Bearer ${TOKEN}', 'x-key': 'key-"1234' }, '*.example': { 'x-else': 'e' } } }
  const { ask } = await openTool(t, config, { environment: { TOKEN: 'token-1234567' } })
  const headers = { AUTHORIZATION: 'mine', 'X-Key': 'mine' }
  const output = await ask({ method: 'GET', url: `http://${host}/`, headers })
  const [received] = echo.requests
  assert.deepEqual([received?.headers['authorization'], received?.headers['x-key']], ['Bearer token-1234567', 'key-"1234'])
  // A pattern without a port matches https only: no secret is sent in clear text.
  assert.equal(received?.headers['x-else'], undefined)
  assert.equal(output.body.authorization, '********')
  assert.equal(output.headers.link, '<********>')
  assert.doesNotMatch(JSON.stringify(output), /token-1234567|1234/)
  await ask({ method: 'GET', url: `http://b.example:${echo.port}/`, headers })
  assert.equal(echo.requests[1]?.headers['authorization'], 'mine')
})

test('a secret without a usable value is reported by name, and no request is sent', async (t) => {
  const site = await startSite(t, (_, response) => response.end())
  const host = `a.example:${site.port}`
  const unset = await openTool(t, { headers: { [host]: { 'x-key': '${TOKEN}' } } })
  await assert.rejects(unset.ask({ method: 'GET', url: `http://${host}/` }), /x-key.*environment variable TOKEN is not set/)
  const broken = await openTool(t, { headers: { [host]: { 'x-key': '${TOKEN}' } } }, { environment: { TOKEN: 'se\r\ncret' } })
  await assert.rejects(broken.ask({ method: 'GET', url: `http://${host}/` }), (error: Error) => !error.message.includes('cret'))
  assert.deepEqual(site.requests, [])
})

test('the context of the caller is sent to context hosts only, and never after a redirect to another origin', async (t) => {
  const otherSite = await startSite(t, (_, response) => response.end('other'))
  const site = await startSite(t, ({ url }, response) => {
    if (url === '/away') response.writeHead(302, { location: `http://b.example:${otherSite.port}/` }).end()
    else response.end('site')
  })
  const { ask } = await openTool(t, { context_hosts: [`a.example:${site.port}`, `b.example:${otherSite.port}`] })
  const headers = { 'stix-user': 'ann', 'stix-odd': 'a\u{1f600}' }
  const context = { headers, traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' }
  await ask({ method: 'GET', url: `http://a.example:${site.port}/` }, context)
  await ask({ method: 'GET', url: `http://a.example:${site.port}/away` }, context)
  await ask({ method: 'GET', url: `http://c.example:${site.port}/` }, context)
  const sent = (name: string) => [...site.requests, ...otherSite.requests].map((received) => received.headers[name])
  assert.deepEqual(sent('stix-user'), ['ann', 'ann', undefined, undefined])
  assert.deepEqual(sent('traceparent'), [context.traceparent, context.traceparent, undefined, undefined])
  await assert.rejects(ask({ method: 'GET', url: site.origin, headers: { 'Stix-User': 'eve' } }), /stix-user belongs to the caller/)
})

test('headers of the connection and invalid headers are refused', async (t) => {
  const site = await startSite(t, (_, response) => response.end())
  const { ask } = await openTool(t, {})
  for (const name of ['Host', 'content-length', 'Transfer-Encoding', 'connection', 'proxy-authorization', 'X-HTTP-Method-Override', 'te']) {
    await assert.rejects(ask({ method: 'GET', url: site.origin, headers: { [name]: 'x' } }), /cannot be set/, name)
  }
  const broken: Record<string, string>[] = [
    { 'x-a': 'b\r\nx-evil: 1' },
    { 'x-a': 'b\0' },
    { 'x-a\r\nx-evil': '1' },
    { '': 'x' },
    { 'x-a': '\u{1f600}' },
  ]
  for (const headers of broken) {
    await assert.rejects(ask({ method: 'GET', url: site.origin, headers }), /cannot be sent|is not the name of a header/)
  }
  await assert.rejects(ask({ method: 'GET', url: site.origin, body: 'b' }), /GET takes no body/)
  assert.deepEqual(site.requests, [])
})

test('requests are sent only to public and allowed hosts', async (t) => {
  const site = await startSite(t, (_, response) => response.end('inside'))
  const { ask } = await openTool(t, {}, { allowed: [] })
  await assert.rejects(ask({ method: 'POST', url: `http://a.example:${site.port}/`, body: '1' }), /no public host of this name/)
  const some = await openTool(t, { allowed_hosts: ['b.example'] })
  await assert.rejects(some.ask({ method: 'GET', url: `http://a.example:${site.port}/` }), /a.example:\d+ is not one of the hosts/)
  assert.deepEqual(site.requests, [])
})

test('long JSON is shortened, long text is cut, and any other body becomes a file', async (t) => {
  const rows = Array.from({ length: 5000 }, (_, index) => ({ id: index, note: 'n'.repeat(20) }))
  const site = await startSite(t, ({ url }, response) => {
    if (url === '/json') return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ rows }))
    if (url === '/text') return void response.writeHead(200, { 'content-type': 'text/plain' }).end('x'.repeat(9000))
    response
      .writeHead(200, { 'content-type': 'image/png', 'content-disposition': 'attachment; filename="a b.png"' })
      .end(Buffer.from([1, 0]))
  })
  const { ask } = await openTool(t, {})
  const { body } = await ask({ method: 'GET', url: `${site.origin}/json` })
  assert.match(body.rows.at(-1), /^\[\d+ more of 5000 left out\]$/)
  assert.deepEqual(body.rows[0], rows[0])
  assert.ok(JSON.stringify(body).length <= 3000)
  assert.match((await ask({ method: 'GET', url: `${site.origin}/text` })).body, /\[cut: 6000 of 9000 characters left out\]$/)
  const artifacts: unknown[] = []
  const artifact: ToolContext['artifact'] = async (name, type, bytes) => {
    artifacts.push([name, type, [...bytes]])
    return { id: 'i', name, type, size: bytes.byteLength, sha256: '', tool: 'http_request', createdAt: 0 }
  }
  const file = await ask({ method: 'GET', url: `${site.origin}/file` }, { artifact })
  assert.deepEqual(file.artifact, { file_name: 'a b.png', file_type: 'image/png', size: 2 })
  assert.deepEqual(artifacts, [['a b.png', 'image/png', [1, 0]]])
})

test('a tool with an invalid header name in its configuration is not built', async (t) => {
  await assert.rejects(openTool(t, { headers: { 'a.example': { 'x y': 'z' } } }), /headers of a.example: "x y" is not the name of a header/)
})
