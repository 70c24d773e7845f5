import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { startSite } from '../web/web-fixture.ts'
import { documentOf, openApi, operationOf } from './openapi-fixture.ts'

const text = { type: 'string' }

test('each operation of a YAML document is a tool with parameters and body fields as input', async (t) => {
  const site = await startSite(t, (_, response) =>
    response.writeHead(201, { 'content-type': 'application/json', location: '/orders/7' }).end('{"id": 7}'),
  )
  const document = `
openapi: 3.1.0
info: {title: Orders, version: '1'}
servers: [{url: '${site.origin}/{version}', variables: {version: {default: v1}}}]
paths:
  /shops/{shop}/orders:
    parameters: [{name: shop, in: path, required: true, schema: {type: string}}]
    get:
      operationId: listOrders
      summary: Lists orders.
      parameters: [{name: limit, in: query, schema: {type: integer, maximum: 50, default: 10}}]
      responses: {'200': {description: ok}}
    post:
      operationId: create order
      tags: [writing]
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Order'}
      responses: {'201': {description: made}}
  /orders/{id}:
    delete:
      responses: {'204': {description: gone}}
components:
  schemas:
    Order:
      type: object
      required: [id, item]
      properties:
        id: {type: integer, readOnly: true}
        item: {type: string}
        note: {type: [string, 'null']}
`
  const api = await openApi(t, { document })
  assert.deepEqual(
    api.tools().map(({ name, effect }) => [name, effect]),
    [
      ['api__listOrders', 'read'],
      ['api__create_order', 'write'],
      ['api__delete_orders_id', 'write'],
    ],
  )
  assert.equal(api.tool('listOrders').description, 'Lists orders.\n(GET /shops/{shop}/orders)')
  assert.deepEqual(api.tool('create_order').schema, {
    type: 'object',
    properties: { shop: text, item: text, note: { type: ['string', 'null'] } },
    required: ['shop', 'item'],
    additionalProperties: false,
  })
  const output = await api.run('create_order', { shop: 'a/b', item: 'tea', note: null })
  assert.deepEqual(output, { status: 201, headers: { location: '/orders/7' }, content_type: 'application/json', body: { id: 7 } })
  const [request] = site.requests
  assert.deepEqual(
    { method: request?.method, url: request?.url, body: request?.body },
    { method: 'POST', url: '/v1/shops/a%2Fb/orders', body: '{"item":"tea","note":null}' },
  )
  assert.deepEqual([request?.headers['content-type'], request?.headers['idempotency-key']], ['application/json', 'call-7'])
  await api.run('listOrders', { shop: 's', limit: 5 })
  assert.deepEqual([site.requests[1]?.url, site.requests[1]?.headers['idempotency-key']], ['/v1/shops/s/orders?limit=5', undefined])
  await assert.rejects(api.run('listOrders', { shop: 's', limit: 51 }), /limit must be <= 50/)
  await assert.rejects(api.run('listOrders', { shop: 's', page: 1 }), /page is not a parameter/)
  await assert.rejects(api.run('create_order', { shop: 's' }), /item is required/)
})

test('operations can be selected by name, pattern and tag, and given other effects', async (t) => {
  const paths = {
    '/a': { get: operationOf('getA', [], { tags: ['one'] }), post: operationOf('makeA', [], { tags: ['one'] }) },
    '/b': { get: operationOf('getB', [], { tags: ['two'] }), post: operationOf('findB', [], { tags: ['two'] }) },
  }
  const document = documentOf('http://127.0.0.1:1', paths)
  const names = async (config: object, spec = {}) =>
    (await openApi(t, { document, config: { ...config }, spec })).tools().map(({ name, effect }) => `${name.slice(5)} ${effect}`)
  assert.deepEqual(await names({ include: ['get*'] }), ['getA read', 'getB read'])
  assert.deepEqual(await names({ include: ['tag:two', 'makeA'], exclude: ['*B*d', 'getB'] }), ['makeA write', 'findB write'])
  assert.deepEqual(await names({ effects: { findB: 'read' }, exclude: ['tag:one'] }), ['getB read', 'findB read'])
  assert.deepEqual(await names({ effects: { getA: 'read' } }, { effect: 'write' }), [
    'getA read',
    'makeA write',
    'getB write',
    'findB write',
  ])
  await assert.rejects(names({ include: ['nothing'] }), /include and exclude leave none of its 4 operations/)
})

test('a document outside the folder of agent.yaml is not read, neither by path nor by link', async (t) => {
  const document = documentOf('http://127.0.0.1:1', { '/a': { get: operationOf('getA') } })
  const { folder } = await openApi(t, { document })
  const outside = path.join(folder, 'outside.json')
  await writeFile(outside, JSON.stringify(document))
  const inner = path.join(folder, 'inner')
  await mkdir(inner)
  await symlink(outside, path.join(inner, 'link.json'))
  const { createOpenApi } = await import('./openapi.ts')
  const { dependenciesOf } = await import('../dependencies-fixture.ts')
  const { openFilesRoot } = await import('../../files/root.ts')
  const deps = dependenciesOf({ files: await openFilesRoot(folder), cacheDir: folder, configDir: inner })
  const build = (spec: string) => createOpenApi({ name: 'api', timeoutMs: 1, maxOutputCharacters: 1000, config: { spec } }, deps)
  for (const spec of ['../outside.json', outside, 'link.json', '/etc/passwd'])
    await assert.rejects(build(spec), /outside of the folder/, spec)
  await assert.rejects(build('none.json'), /none.json does not exist beside agent.yaml/)
  await assert.rejects(build('file:///etc/passwd'), /does not exist beside agent.yaml/)
})

test('an invalid document is refused with a reason', async (t) => {
  const bomb = [
    'a: &a [x, x, x, x, x, x, x, x, x, x]',
    ...'bcdefghij'.split('').map((name, index) => {
      const before = `*${'abcdefghij'[index]}`
      return `${name}: &${name} [${Array.from({ length: 10 }, () => before).join(', ')}]`
    }),
  ].join('\n')
  const cases: [string | object, RegExp][] = [
    ['{"openapi": ', /it is not JSON/],
    ['a: [', /it is not YAML, in line/],
    ['just words', /it is not an OpenAPI document/],
    ['swagger: "2.0"', /it has no operations/],
    ['swagger: "1.2"', /does not declare OpenAPI 3.0 or 3.1, or Swagger 2.0/],
    ['openapi: 4.0.0\npaths: {}', /does not declare OpenAPI 3.0 or 3.1, or Swagger 2.0/],
    ['openapi: 3.0.0\npaths: {}', /it has no operations/],
    [bomb, /aliases are invalid or expand to too much/],
    [`openapi: 3.0.0\npaths: ${'['.repeat(20_000)}`, /nested too deeply|it is not YAML/],
  ]
  for (const [document, reason] of cases) await assert.rejects(openApi(t, { document }), reason, String(document).slice(0, 40))
  const external = { '/a': { get: operationOf('getA', [{ $ref: 'http://127.0.0.1:1/other.yaml#/x' }]) } }
  await assert.rejects(
    openApi(t, { document: documentOf('http://127.0.0.1:1', external) }),
    /none of its operations can be called \(GET \/a: a parameter cannot be read: http:\/\/127.0.0.1:1\/other.yaml is not a file/,
  )
})

test('a document with hundreds of operations and mutually recursive schemas is read without blocking the service', async (t) => {
  const field = (index: number) => ({ type: 'string', description: `What field ${index} tells of the thing that it belongs to.` })
  const toSchema = (n: number) => ({
    type: 'object',
    properties: Object.fromEntries(
      Array.from({ length: 30 }, (_, k) => [`field_${k}`, k < 24 ? field(k) : { $ref: `#/components/schemas/S${(n * 7 + k * 13) % 200}` }]),
    ),
  })
  const schemas = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`S${n}`, toSchema(n)]))
  const body = (n: number) => ({
    required: true,
    content: { 'application/json': { schema: { $ref: `#/components/schemas/S${n % 200}` } } },
  })
  const paths = Object.fromEntries(
    Array.from({ length: 300 }, (_, n) => [`/things${n}/{id}`, { post: operationOf(`make${n}`, [], { requestBody: body(n) }) }]),
  )
  const document = documentOf('http://127.0.0.1:1', paths, { components: { schemas } })
  const api = await openApi(t, { document })
  assert.equal(api.tools().length, 300)
  const sizes = api.tools().map(({ schema }) => JSON.stringify(schema).length)
  assert.ok(Math.max(...sizes) <= 30_000 && Math.min(...sizes) > 2000, `${Math.min(...sizes)} to ${Math.max(...sizes)}`)
  assert.equal(api.tool('make7').check({ id: '1', field_0: 'x', field_25: { field_1: 'y' } }), undefined)
  assert.equal(api.tool('make7').check({ id: '1', field_0: 1 }), 'field_0 must be string')
})

test('the context of the caller and the credentials are sent, but not after a redirect to another origin', async (t) => {
  const otherOrigin = await startSite(t, (_, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('other'))
  const site = await startSite(t, (_, response) => response.writeHead(302, { location: `${otherOrigin.origin}/` }).end())
  const document = documentOf(site.origin, { '/a': { get: operationOf('getA') } })
  const config = { headers: { 'x-key': '${KEY}' } }
  const api = await openApi(t, { document, config, environment: { KEY: 'secret-value' }, allowed: ['127.0.0.1'] })
  const output = await api.run('getA', {}, { headers: { 'stix-user': 'ann' } })
  assert.equal(output.body, 'other')
  assert.deepEqual([site.requests[0]?.headers['stix-user'], site.requests[0]?.headers['x-key']], ['ann', 'secret-value'])
  assert.deepEqual([otherOrigin.requests[0]?.headers['stix-user'], otherOrigin.requests[0]?.headers['x-key']], [undefined, undefined])
  const held = await openApi(t, { document, config, environment: { KEY: 'secret-value' } })
  await assert.rejects(held.run('getA', {}), /address that is not public and not configured/)
})

test('an error response fails the call with status and text, with secrets masked', async (t) => {
  const site = await startSite(t, ({ url, headers }, response) => {
    if (url === '/long') return void response.writeHead(500, { 'content-type': 'text/plain' }).end('x'.repeat(50_000))
    response.writeHead(422, { 'content-type': 'application/json' }).end(JSON.stringify({ error: 'no', key: headers['x-key'] }))
  })
  const document = documentOf(site.origin, { '/a': { post: operationOf('makeA') }, '/long': { post: operationOf('long') } })
  // A version header is not a secret, so the same text in a response is not masked.
  const api = await openApi(t, { document, config: { headers: { 'x-key': 'secret-value', 'x-version': 'no","key' } } })
  await assert.rejects(api.run('makeA', {}), { message: 'POST /a answered 422.\n{"error":"no","key":"********"}' })
  await assert.rejects(api.run('long', {}), (error: Error) => error.message.length < 2100 && error.message.endsWith('[cut]'))
})

test('a read is retried when the server is busy or unreachable, a write is not', async (t) => {
  let busy = 2
  const site = await startSite(t, ({ url }, response) => {
    if (url === '/lost' && busy-- > 0) return void response.destroy()
    if (url === '/later') return void response.writeHead(503, { 'retry-after': '3600' }).end()
    if (busy-- > 0) response.writeHead(429, { 'retry-after': '0' }).end()
    else response.end()
  })
  const paths = {
    '/a': { get: operationOf('getA'), post: operationOf('makeA') },
    '/lost': { get: operationOf('lost') },
    '/later': { get: operationOf('later') },
  }
  const api = await openApi(t, { document: documentOf(site.origin, paths) })
  assert.deepEqual(await api.run('getA', {}), { status: 200 })
  assert.equal(site.requests.length, 3)
  busy = 1
  await assert.rejects(api.run('makeA', {}), /POST \/a answered 429. It may be retried after 0 s/)
  assert.equal(site.requests.length, 4)
  busy = 1
  assert.deepEqual(await api.run('lost', {}), { status: 200 })
  await assert.rejects(api.run('later', {}), /answered 503. It may be retried after 3600 s/)
  assert.equal(site.requests.filter(({ url }) => url === '/later').length, 1)
  const unreachable = await openApi(t, { document: documentOf('http://127.0.0.1:1', { '/a': { post: operationOf('makeA') } }) })
  await assert.rejects(unreachable.run('makeA', {}), /The API could not be reached/)
})

test('a file in a response is kept, and long JSON is shortened as JSON', async (t) => {
  const rows = Array.from({ length: 3000 }, (_, id) => ({ id, name: `row ${id}` }))
  const site = await startSite(t, ({ url }, response) => {
    if (url === '/rows') response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(rows))
    else response.writeHead(200, { 'content-type': 'application/pdf' }).end('%PDF')
  })
  const api = await openApi(t, {
    document: documentOf(site.origin, { '/rows': { get: operationOf('rows') }, '/x.pdf': { get: operationOf('file') } }),
  })
  const { body } = await api.run('rows', {})
  assert.match(body.at(-1), /more of 3000 left out/)
  const artifact = async (name: string, type: string, bytes: Uint8Array) => ({
    ...{ id: 'i', name, type, sha256: '', tool: 'api__file', createdAt: 0 },
    size: bytes.length,
  })
  assert.deepEqual((await api.run('file', {}, { artifact })).artifact, { file_name: 'x.pdf', file_type: 'application/pdf', size: 4 })
})

async function until(isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + 10_000; !isSo(); await wait(20)) assert.ok(Date.now() < end, 'it does not come about')
}

test('a changed file replaces the tools, and a broken file leaves the tools unchanged', async (t) => {
  const documentWith = (id: string) => JSON.stringify(documentOf('http://127.0.0.1:1', { '/a': { get: operationOf(id) } }))
  const api = await openApi(t, { document: documentWith('getA'), everyMs: 30 })
  const file = path.join(api.folder, 'spec.yaml')
  const names = () => api.tools().map(({ name }) => name)
  await writeFile(file, 'openapi: 3.0.0')
  await wait(500)
  assert.deepEqual(names(), ['api__getA'])
  await writeFile(file, documentWith('getOther'))
  await until(() => names()[0] === 'api__getOther')
})

test('a document at an address is checked for changes with the configured headers', async (t) => {
  let id = 'getA'
  const site = await startSite(t, ({ headers }, response) => {
    if (headers['if-none-match'] === `"${id}"`) return void response.writeHead(304).end()
    const document = documentOf('/', { '/a': { get: operationOf(id) } })
    response.writeHead(200, { etag: `"${id}"`, 'content-type': 'application/json' }).end(JSON.stringify(document))
  })
  const config = { spec: `${site.origin}/openapi.json`, headers: { 'x-key': '${KEY}' } }
  const api = await openApi(t, { config, environment: { KEY: 'secret-value' }, everyMs: 30 })
  await until(() => site.requests.length > 2)
  assert.ok(site.requests.every(({ headers }) => headers['x-key'] === 'secret-value'))
  assert.deepEqual(
    api.tools().map(({ name }) => name),
    ['api__getA'],
  )
  id = 'getB'
  await until(() => api.tools()[0]?.name === 'api__getB')
})

test('the texts of a document at an address are of its authors, those of a file are of the operator', async (t) => {
  const document = documentOf('https://api.example', { '/a': { get: operationOf('getA') } })
  const site = await startSite(t, (_, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document)),
  )
  const marks = { trust: 'untrusted', private: true, outbound: true } as const
  const ofEntry = async (options: object, spec = { marks }) => (await openApi(t, { ...options, spec })).tool('getA').marks?.describedBy
  const config = { spec: `${site.origin}/openapi.json` }
  assert.equal(await ofEntry({ config }), 'api')
  assert.equal(await ofEntry({ config }, { marks: { ...marks, trust: 'trusted' as never } }), undefined)
  assert.equal(await ofEntry({ document }), undefined)
})

test('a document with too many operations is refused with a list of its tags and their sizes', async (t) => {
  const tagsOf = (n: number) => (n < 700 ? ['repos'] : n < 1100 ? ['issues', 'repos'] : [])
  const paths = Object.fromEntries(
    Array.from({ length: 1200 }, (_, n) => [`/things${n}`, { get: operationOf(`get${n}`, [], { tags: tagsOf(n) }) }]),
  )
  const document = documentOf('http://127.0.0.1:1', paths)
  await assert.rejects(openApi(t, { document }), (error: Error) => {
    assert.match(
      error.message,
      /it has 1200 operations, more than the 1000 that an entry may have: choose some with include, such as \["tag:repos"\]/,
    )
    assert.match(error.message, /its tags are repos \(1100\), issues \(400\), 100 operations without a tag\.$/)
    return true
  })
  const some = await openApi(t, { document, config: { include: ['tag:issues'] } })
  assert.equal(some.tools().length, 400)
})
