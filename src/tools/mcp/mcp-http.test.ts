import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { env } from 'node:process'
import { test, type TestContext } from 'node:test'
import type { McpServer } from '@modelcontextprotocol/server'
import { startMcpServer, type McpHttpServer } from '../../../test/fixtures/mcp-http-server.ts'
import { createGuardedFetch } from '../../outbound/guarded-fetch.ts'
import { callTool, connectServer, referenceServer, until, type ServerOptions } from './mcp-fixture.ts'

function connect(t: TestContext, config: object, extra: Partial<ServerOptions> = {}) {
  const outbound = createGuardedFetch({ allowed: [] })
  t.after(() => outbound.close())
  return connectServer(t, { ...extra, config: { ...config }, outbound })
}

async function modern(t: TestContext): Promise<McpHttpServer> {
  const server = await startMcpServer()
  t.after(() => server.close())
  return server
}

async function listen(t: TestContext, answer: http.RequestListener): Promise<string> {
  const server = http.createServer(answer)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The reference server of the 2025 protocol, with sessions, on a free port. */
async function startReferenceServer(t: TestContext) {
  const { command, args } = referenceServer('everything', 'streamableHttp')
  const start = async (port: number) => {
    const child = spawn(command, args, { env: { PATH: env['PATH'], PORT: String(port) }, stdio: ['ignore', 'ignore', 'pipe'] })
    t.after(() => child.kill('SIGKILL'))
    const isUp = await new Promise<boolean>((resolve) => {
      child.stderr.on('data', (text) => String(text).includes('listening') && resolve(true))
      child.once('exit', () => resolve(false))
    })
    return isUp ? child : undefined
  }
  for (;;) {
    const port = await freePort()
    const child = await start(port)
    // Another process may have taken the port.
    if (child) return { url: `http://127.0.0.1:${port}/mcp`, child, again: () => start(port) }
  }
}

async function freePort(): Promise<number> {
  const server = http.createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

test('a server of the 2026 protocol receives calls with context, and a changed tool list is followed', async (t) => {
  const server = await modern(t)
  const { call, group, tool } = await connect(
    t,
    { url: server.url, headers: { authorization: 'Bearer ${KEY}' } },
    { environment: { KEY: 'sesame' } },
  )
  assert.deepEqual([tool('moody').effect, tool('tell').effect], ['read', 'write'])
  const output = await call('tell', {}, { context: { callId: 'c9', headers: { 'stix-user': 'ann' } } })
  assert.partialDeepStrictEqual(JSON.parse(String(output.output)), { 'stix-user': 'ann', 'idempotency-key': 'c9' })
  assert.ok(server.requests.every(({ headers }) => headers.authorization === 'Bearer sesame'))
  assert.ok(server.requests.some(({ headers }) => headers['mcp-protocol-version'] === '2026-07-28'))
  server.describe('Tells tomorrow’s weather.')
  await until(() => group.tools().some(({ description }) => description.includes('tomorrow')))
})

test('a change without a notification is found by polling', async (t) => {
  const server = await modern(t)
  server.intercept = (_, response, body) => body?.method === 'subscriptions/listen' && (response.writeHead(404).end(), true)
  const { group } = await connect(t, { url: server.url })
  server.describe('Tells nothing.')
  await until(() => group.tools().some(({ description }) => description === 'Tells nothing.'))
})

test('a cancelled call of the 2026 protocol closes its request', async (t) => {
  const server = await modern(t)
  const { call } = await connect(t, { url: server.url })
  const closed = Promise.withResolvers<void>()
  server.intercept = (_, response, body) => {
    if (body?.method === 'tools/call') response.once('close', () => closed.resolve())
    return false
  }
  const leaving = new AbortController()
  const waiting = call('wait', {}, { signal: leaving.signal })
  await until(() => server.requests.some(({ body }) => body?.method === 'tools/call'))
  leaving.abort()
  assert.match((await waiting).text, /The call was cancelled/)
  await closed.promise
})

test('a server of the 2025 protocol killed during a call is noticed at once and used again after a restart', async (t) => {
  const { url, child, again } = await startReferenceServer(t)
  const { call, group, tool } = await connect(t, { url }, { timeoutMs: 20_000 })
  assert.equal((await call('echo', { message: 'hi' })).output, 'Echo: hi')
  const { log } = await call('trigger-long-running-operation', { duration: 0.4, steps: 2 })
  assert.match(log, /^1 of 2\n2 of 2\n/)
  const startedAt = performance.now()
  const waiting = call('trigger-long-running-operation', { duration: 60, steps: 2 })
  setTimeout(() => child.kill('SIGKILL'), 300)
  assert.match((await waiting).text, /The connection to the server was lost|The server cannot be reached/)
  assert.ok(performance.now() - startedAt < 15_000)
  await until(() => group.unavailableReason?.() !== undefined)
  assert.match(group.unavailableReason?.() ?? '', /cannot be reached/)
  assert.match((await callTool(tool('echo'), { message: 'x' })).text, /cannot be used at the moment/)
  await again()
  await until(() => group.unavailableReason?.() === undefined)
  assert.equal((await call('echo', { message: 'back' })).output, 'Echo: back')
})

test('a session forgotten by the server is renewed, and the call is repeated', async (t) => {
  const { url } = await startReferenceServer(t)
  let session = ''
  const proxy = await listen(t, (request, response) => {
    const passed = http.request(url, { method: request.method, headers: request.headers }, (answer) => {
      session = String(answer.headers['mcp-session-id'] ?? session)
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    passed.on('error', () => response.destroy())
    request.pipe(passed)
  })
  const { call, log } = await connect(t, { url: `${proxy}/mcp` }, { timing: { pollMs: 60_000 } })
  const first = session
  const deleted = await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': first, 'mcp-protocol-version': '2025-11-25' } })
  assert.ok(deleted.ok)
  assert.equal((await call('echo', { message: 'still here' })).output, 'Echo: still here')
  assert.notEqual(session, first)
  assert.doesNotMatch(log.join(''), new RegExp(first))
})

test('an unreachable server is reported with a reason', async (t) => {
  const server = await modern(t)
  await server.close()
  await assert.rejects(connect(t, { url: server.url }), /^Error: The server cannot be reached: connect ECONNREFUSED 127\.0\.0\.1:\d+\.$/)
  await assert.rejects(connect(t, { url: 'http://nowhere.invalid/mcp' }), /The server cannot be reached: getaddrinfo .* nowhere\.invalid\./)
})

test('missing and refused credentials are reported without showing them', async (t) => {
  const server = await modern(t)
  server.intercept = (_, response) => (response.writeHead(401, { 'www-authenticate': 'Bearer' }).end('no: Bearer sesame-open'), true)
  const { group } = await connect(t, { url: server.url })
  assert.match(
    group.unavailableReason?.() ?? '',
    /^The server requires a login \(401\): run "agent-core tool login s", or set headers or oauth\.$/,
  )
  const headers = { authorization: 'Bearer sesame-open' }
  await assert.rejects(connect(t, { url: server.url, headers }), { message: 'The server refused the credentials (401).' })
  server.intercept = (_, response) => (response.writeHead(500).end('the key sesame-open is not known'), true)
  await assert.rejects(connect(t, { url: server.url, headers }), /status 500: the key \*{8} is not known/)
  server.intercept = (_, response) => (response.writeHead(404).end(), true)
  await assert.rejects(connect(t, { url: server.url, headers }), /There is no MCP server at this address \(404\)\./)
})

/** An authorization server that records its requests, and issues tokens with an optional lifetime. */
async function tokens(t: TestContext, seconds?: number) {
  const tokenRequests: { path: string; body: URLSearchParams; authorization?: string }[] = []
  let issuedTokens = 0
  const url = await listen(t, (request, response) => {
    let text = ''
    request
      .on('data', (piece) => (text += piece))
      .on('end', () => {
        const path = request.url ?? ''
        tokenRequests.push({
          path,
          body: new URLSearchParams(text),
          ...(request.headers.authorization && { authorization: request.headers.authorization }),
        })
        const json = (status: number, body: object) =>
          response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
        if (path === '/token')
          return json(200, { access_token: `token-${++issuedTokens}`, token_type: 'Bearer', ...(seconds && { expires_in: seconds }) })
        if (path.includes('oauth-authorization-server')) {
          return json(200, {
            issuer: url,
            token_endpoint: `${url}/token`,
            authorization_endpoint: `${url}/authorize`,
            response_types_supported: ['code'],
          })
        }
        json(404, {})
      })
  })
  return { url, tokenRequests }
}

test('a token is requested from the configured URL, and again when it is refused', async (t) => {
  const server = await modern(t)
  const { url, tokenRequests } = await tokens(t)
  let good = 'Bearer token-1'
  server.intercept = (request, response) => request.headers.authorization !== good && (response.writeHead(401).end(), true)
  const oauth = { client_id: 'me', client_secret: '${SECRET}', scope: 'tools', token_url: `${url}/token` }
  const { call, log } = await connect(t, { url: server.url, oauth }, { environment: { SECRET: 's3cret&more' } })
  good = 'Bearer token-2'
  assert.equal((await call('moody')).output, 'sunny')
  assert.ok(tokenRequests.every(({ path }) => path === '/token') && tokenRequests.length === 2)
  assert.deepEqual(Object.fromEntries(tokenRequests[0]!.body), { grant_type: 'client_credentials', scope: 'tools', resource: server.url })
  assert.equal(tokenRequests[0]!.authorization, `Basic ${btoa('me:s3cret%26more')}`)
  assert.doesNotMatch(log.join(''), /s3cret|token-\d/)
})

test('a token request names the server without its query, a configured resource instead, or none when empty', async (t) => {
  const server = await modern(t)
  const { url, tokenRequests } = await tokens(t)
  const oauth = { client_id: 'me', client_secret: 'secret', token_url: `${url}/token` }
  await connect(t, { url: `${server.url}?key=sesame`, oauth })
  await connect(t, { url: server.url, oauth: { ...oauth, resource: 'api://weather' } })
  await connect(t, { url: server.url, oauth: { ...oauth, resource: '' } })
  assert.deepEqual(
    tokenRequests.map(({ body }) => body.get('resource')),
    [server.url, 'api://weather', null],
  )
})

test('a token is requested for the scopes named by a 401 or 403 response; configured scopes stay', async (t) => {
  const server = await modern(t)
  const { url, tokenRequests } = await tokens(t)
  const challenge = (text: string) => ({ 'www-authenticate': `Bearer ${text}` })
  let missing: string | undefined = 'write'
  server.intercept = (request, response, body) => {
    const isFirst = request.headers.authorization === 'Bearer token-1'
    if (isFirst) return (response.writeHead(401, challenge('scope="read"')).end(), true)
    if (body?.method !== 'tools/call' || missing === undefined) return false
    const scope = missing
    missing = scope === 'write' ? undefined : `${scope}x`
    return (response.writeHead(403, challenge(`error="insufficient_scope", scope="${scope}"`)).end(), true)
  }
  const oauth = { client_id: 'me', client_secret: 'secret', token_url: `${url}/token` }
  // A new connection would request its own tokens.
  const timing = { retryMs: () => 60_000, pollMs: 60_000 }
  const { call } = await connect(t, { url: server.url, oauth }, { timing })
  assert.equal((await call('moody')).output, 'sunny')
  assert.deepEqual(
    tokenRequests.map(({ body }) => body.get('scope')),
    [null, 'read', 'read write'],
  )
  // A server that asks for another scope each time is not followed for ever.
  missing = 'a'
  for (let time = 0; time < 12; time++)
    assert.match((await call('moody')).text, /requires the scopes a\S* for this request \(403\)|cannot be used at the moment/)
  assert.ok(tokenRequests.length <= 12, `${tokenRequests.length} tokens`)
  const before = tokenRequests.length
  missing = 'write'
  const fixed = await connect(t, { url: server.url, oauth: { ...oauth, scope: 'read' } }, { timing })
  assert.match(
    (await fixed.call('moody')).text,
    /The server requires the scopes write for this request \(403\), which the token of oauth does not have\./,
  )
  assert.deepEqual(
    tokenRequests.slice(before).map(({ body }) => body.get('scope')),
    ['read'],
  )
})

test('a tool with a faulty header annotation is refused with a reason, over Streamable HTTP of the 2026 protocol', async (t) => {
  const server = await modern(t)
  const of = (properties: object, extra: object = {}) => ({ type: 'object', properties, ...extra })
  const at = (name: unknown, type: unknown = 'string') => ({ region: { type, 'x-mcp-header': name } })
  const schemas: Record<string, object> = {
    fine: of({ ...at('Region'), nested: of({ deep: { type: 'integer', 'x-mcp-header': 'Deep' } }) }),
    empty: of(at('')),
    space: of(at('My Region')),
    colon: of(at('Region:')),
    control: of(at('Re\tgion')),
    foreign: of(at('Région')),
    number: of(at('Region', 'number')),
    object: of(at('Region', 'object')),
    list: of(at('Region', 'array')),
    none: of(at('Region', 'null')),
    twice: of({ ...at('Region'), other: { type: 'string', 'x-mcp-header': 'REGION' } }),
    items: of({ all: { type: 'array', items: { type: 'string', 'x-mcp-header': 'Region' } } }),
    choice: of({}, { anyOf: [of(at('Region'))] }),
    root: of({}, { 'x-mcp-header': 'Region' }),
    // The values of `examples` are data.
    example: of({ region: { type: 'object', examples: [{ 'x-mcp-header': '' }] } }),
  }
  server.intercept = (_, response, body) => {
    if (body?.method !== 'tools/list') return false
    const tools = Object.entries(schemas).map(([name, inputSchema]) => ({ name, description: name, inputSchema }))
    const result = { resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id: body.id, result }))
    return true
  }
  const { group, log } = await connect(t, { url: server.url })
  assert.deepEqual(
    group.tools().map(({ name }) => name),
    ['s__fine', 's__example'],
  )
  const refused = group.refused?.() ?? []
  assert.equal(refused.length, Object.keys(schemas).length - 2)
  for (const { name, reason } of refused) assert.match(reason, /x-mcp-header/, name)
  assert.match(
    refused.find(({ name }) => name === 's__number')?.reason ?? '',
    /its parameter region has an x-mcp-header, but is not a string/,
  )
  assert.match(log.join(''), /s__twice.*the same x-mcp-header as another parameter/)
})

test('a server of the old HTTP+SSE transport is recognised, and another event stream is not', async (t) => {
  const { command, args } = referenceServer('everything', 'sse')
  const port = await freePort()
  const child = spawn(command, args, { env: { PATH: env['PATH'], PORT: String(port) }, stdio: ['ignore', 'ignore', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  await until(() =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    ),
  )
  await assert.rejects(connect(t, { url: `http://127.0.0.1:${port}/sse` }), /^Error: The server speaks only the old HTTP\+SSE transport/)
  let aborted = 0
  const otherOrigin = await listen(t, (request, response) => {
    if (request.method !== 'GET') return response.writeHead(404).end()
    response.once('close', () => aborted++)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const timer = setInterval(() => response.write(`data: ${'x'.repeat(4000)}\n\n`), 10)
    return response.once('close', () => clearInterval(timer))
  })
  await assert.rejects(connect(t, { url: otherOrigin }), /There is no MCP server at this address \(404\)\./)
  await until(() => aborted === 1)
})

test('a token is renewed before its expiry', async (t) => {
  const server = await modern(t)
  const { url, tokenRequests } = await tokens(t, 0.002)
  const oauth = { client_id: 'me', client_secret: 'secret', token_url: `${url}/token` }
  const { call } = await connect(t, { url: server.url, oauth })
  const before = tokenRequests.length
  await call('moody')
  assert.ok(tokenRequests.length > before)
  assert.equal(server.requests.at(-1)?.headers.authorization?.startsWith('Bearer token-'), true)
})

test('a server may name a token endpoint on its own origin only; the secret is not sent to another origin', async (t) => {
  const server = await modern(t)
  const { url, tokenRequests } = await tokens(t)
  const outbound = createGuardedFetch({ allowed: ['127.0.0.1'] })
  t.after(() => outbound.close())
  const challenge = () => ({
    'www-authenticate': `Bearer resource_metadata="${new URL('/.well-known/oauth-protected-resource/mcp', server.url).href}"`,
  })
  let issuer = url
  server.intercept = (request, response) => {
    const path = request.url ?? ''
    const json = (body: object) => (response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)), true)
    if (path.includes('oauth-protected-resource')) return json({ resource: server.url, authorization_servers: [issuer] })
    if (path.includes('oauth-authorization-server')) {
      return json({
        issuer,
        token_endpoint: `${issuer}token`,
        authorization_endpoint: `${issuer}authorize`,
        response_types_supported: ['code'],
      })
    }
    if (path === '/token') return json({ access_token: 'own', token_type: 'Bearer' })
    return request.headers.authorization !== 'Bearer own' && (response.writeHead(401, challenge()).end(), true)
  }
  const oauth = { client_id: 'me', client_secret: 'secret' }
  // Another server on this machine, which is not configured.
  await assert.rejects(connect(t, { url: server.url, oauth }))
  assert.deepEqual(tokenRequests, [])
  const elsewhere = connectServer(t, { config: { url: server.url, oauth }, outbound })
  await assert.rejects(elsewhere, { message: new RegExp(`on another origin.*set oauth\\.token_url to ${url}/token`) })
  assert.deepEqual(
    tokenRequests.map(({ path }) => path),
    ['/.well-known/oauth-authorization-server'],
  )
  issuer = new URL('/', server.url).href
  const { call } = await connect(t, { url: server.url, oauth })
  assert.equal((await call('moody')).output, 'sunny')
})

test('no redirect to another origin is followed: neither credentials nor calls are sent there', async (t) => {
  const server = await modern(t)
  let received = 0
  const otherOrigin = await listen(t, (_, response) => (received++, response.end()))
  server.intercept = (_, response) => (response.writeHead(307, { location: `${otherOrigin}/mcp` }).end(), true)
  await assert.rejects(connect(t, { url: server.url, headers: { authorization: 'Bearer x' } }), /redirects|Redirect/)
  assert.equal(received, 0)
})

test('secrets sent back by a server are masked in tools, results and errors; settings are not', async (t) => {
  const server = await modern(t)
  const { url } = await tokens(t)
  const oauth = { client_id: 'me', client_secret: 'open-sesame', token_url: `${url}/token` }
  const headers = { 'x-api-key': '${KEY}', 'x-tenant': 'production' }
  server.describe('It knows sesame-1234 of production.')
  server.intercept = (request, response, body) => {
    if (body?.method !== 'tools/call') return false
    const leaked = `${JSON.stringify(request.headers['x-api-key'])} open-sesame ${request.headers['x-tenant'] as string}`
    const answer = {
      moody: { result: { content: [{ type: 'text', text: leaked }], structuredContent: { said: leaked } } },
      tell: { result: { isError: true, content: [{ type: 'text', text: leaked }] } },
      wait: { error: { code: -32000, message: leaked } },
    }[body.params.name as 'moody']
    const meta = { resultType: 'complete' }
    const { result } = answer
    const whole = { jsonrpc: '2.0', id: body.id, ...answer, ...(result && { result: { ...meta, ...result } }) }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole))
    return true
  }
  const { call, tool } = await connect(t, { url: server.url, headers, oauth }, { environment: { KEY: 'sesame-1234' } })
  assert.equal(tool('moody').description, 'It knows ******** of production.')
  for (const name of ['moody', 'tell', 'wait']) {
    const outcome = await call(name)
    assert.doesNotMatch(JSON.stringify(outcome), /sesame/, name)
    assert.match(JSON.stringify(outcome), /\*{8}.* production/, name)
  }
})

for (const type of ['application/json', 'text/event-stream']) {
  test(`an endless response in ${type} ends at the size limit`, async (t) => {
    const server = await modern(t)
    const { call, group } = await connect(t, { url: server.url })
    server.intercept = async (_, response, body) => {
      if (body?.method !== 'tools/call') return false
      response.writeHead(200, { 'content-type': type }).write('data: {"jsonrpc":"2.0","id":')
      const piece = 'x'.repeat(1024 * 1024)
      const write = () => new Promise((resolve) => response.write(piece, resolve))
      for (let megabyte = 0; megabyte < 200 && !response.destroyed; megabyte++) await write()
      return true
    }
    assert.match((await call('moody')).text, /more than 32 MB/)
    server.intercept = () => false
    await until(() => group.unavailableReason?.() === undefined)
    assert.equal((await call('moody')).output, 'sunny')
  })
}

test('failing calls open the circuit, and the connection is retried', async (t) => {
  const server = await modern(t)
  const { call, group } = await connect(t, { url: server.url }, { timing: { retryMs: () => 500, pollMs: 60_000 } })
  server.intercept = (_, response, body) => body?.method === 'tools/call' && (response.writeHead(502).end('bad gateway'), true)
  for (let time = 0; time < 3; time++) assert.match((await call('moody')).text, /status 502: bad gateway/)
  assert.match(group.unavailableReason?.() ?? '', /3 calls in a row failed; the last error: The server answered with status 502/)
  assert.equal(group.tools().length, 3)
  server.intercept = () => false
  await until(() => group.unavailableReason?.() === undefined)
  assert.equal((await call('moody')).output, 'sunny')
})

test('a call without a response ends with its timeout', async (t) => {
  const server = await modern(t)
  const { call } = await connect(t, { url: server.url }, { timeoutMs: 300 })
  server.intercept = (_, _response, body) => body?.method === 'tools/call'
  assert.match((await call('moody')).text, /did not finish within 0\.3 s/)
})

test('a hint of the server lifts the mark of a way out, unless the entry says otherwise', async (t) => {
  const register = (server: McpServer) =>
    void server.registerTool('closed', { description: 'Reads.', annotations: { openWorldHint: false } }, () => ({ content: [] }))
  const server = await startMcpServer(register)
  t.after(() => server.close())
  const marks = { trust: 'untrusted', private: true, outbound: true } as const
  const own = await connect(t, { url: server.url }, { marks })
  assert.deepEqual([own.tool('closed').marks?.outbound, own.tool('tell').marks?.outbound], [false, true])
  const entry = await connect(t, { url: server.url }, { marks, isOutbound: true })
  assert.equal(entry.tool('closed').marks?.outbound, true)
})
