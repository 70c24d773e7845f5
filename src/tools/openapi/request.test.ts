import assert from 'node:assert/strict'
import { test } from 'node:test'
import { workSince } from '../../../test/fixtures/work-meter.ts'
import type { JsonValue } from '../../agent/messages.ts'
import { startSite } from '../web/web-fixture.ts'
import { documentOf, openApi, operationOf } from './openapi-fixture.ts'

const text = { type: 'string' }
const list = { type: 'array', items: text }
const map = { type: 'object', additionalProperties: text }
const colours = ['blue', 'black']
const rgb = { R: '100', G: '200' }

test('parameters are serialised in the styles of OpenAPI', async (t) => {
  const site = await startSite(t, (_, response) => response.end())
  const cases: [object, JsonValue, string][] = [
    [{ in: 'path', schema: text }, 'blue', '/x/blue'],
    [{ in: 'path', schema: text, style: 'label' }, 'blue', '/x/.blue'],
    [{ in: 'path', schema: text, style: 'matrix' }, 'blue', '/x/;c=blue'],
    [{ in: 'path', schema: list }, colours, '/x/blue,black'],
    [{ in: 'path', schema: list, style: 'label' }, colours, '/x/.blue,black'],
    [{ in: 'path', schema: list, style: 'label', explode: true }, colours, '/x/.blue.black'],
    [{ in: 'path', schema: list, style: 'matrix' }, colours, '/x/;c=blue,black'],
    [{ in: 'path', schema: list, style: 'matrix', explode: true }, colours, '/x/;c=blue;c=black'],
    [{ in: 'path', schema: map }, rgb, '/x/R,100,G,200'],
    [{ in: 'path', schema: map, explode: true }, rgb, '/x/R=100,G=200'],
    [{ in: 'path', schema: map, style: 'label', explode: true }, rgb, '/x/.R=100.G=200'],
    [{ in: 'path', schema: map, style: 'matrix', explode: true }, rgb, '/x/;R=100;G=200'],
    [{ in: 'query', schema: text }, 'a b&c=d/é', '/x/?c=a%20b%26c%3Dd%2F%C3%A9'],
    [{ in: 'query', schema: text, allowReserved: true }, 'a/b?c&d#e+f', '/x/?c=a/b?c%26d%23e%2Bf'],
    [{ in: 'query', schema: list }, colours, '/x/?c=blue&c=black'],
    [{ in: 'query', schema: list, explode: false }, ['a,b', 'c'], '/x/?c=a%2Cb,c'],
    [{ in: 'query', schema: list, style: 'spaceDelimited', explode: false }, colours, '/x/?c=blue%20black'],
    [{ in: 'query', schema: list, style: 'pipeDelimited', explode: false }, colours, '/x/?c=blue|black'],
    [{ in: 'query', schema: list }, [], '/x/'],
    [{ in: 'query', schema: map }, rgb, '/x/?R=100&G=200'],
    [{ in: 'query', schema: map, explode: false }, rgb, '/x/?c=R,100,G,200'],
    [{ in: 'query', schema: map, style: 'deepObject', explode: true }, rgb, '/x/?c%5BR%5D=100&c%5BG%5D=200'],
    [{ in: 'query', schema: list, style: 'deepObject', explode: true }, colours, '/x/?c%5B0%5D=blue&c%5B1%5D=black'],
    [{ in: 'query', content: { 'application/json': { schema: map } } }, rgb, '/x/?c=%7B%22R%22%3A%22100%22%2C%22G%22%3A%22200%22%7D'],
    [{ in: 'query', schema: { type: 'boolean' } }, false, '/x/?c=false'],
  ]
  const paths = Object.fromEntries(
    cases.map(([input], index) => {
      const isInPath = (input as { in: string }).in === 'path'
      return [`/${index}/x/${isInPath ? '{c}' : ''}`, { get: operationOf(`get${index}`, [{ name: 'c', required: isInPath, ...input }]) }]
    }),
  )
  const api = await openApi(t, { document: documentOf(site.origin, paths) })
  for (const [index, [input, value, url]] of cases.entries()) {
    await api.run(`get${index}`, { c: value })
    assert.equal(site.requests.at(-1)?.url, `/${index}${url}`, JSON.stringify(input))
  }
})

test('headers and cookies are sent, and reserved headers are not part of the input', async (t) => {
  const site = await startSite(t, (_, response) => response.end())
  const header = (name: string, schema: object = text) => ({ name, in: 'header', schema })
  const reserved = ['Authorization', 'Host', 'Content-Length', 'Cookie', 'Accept', 'Stix-User', 'X-Key', 'Idempotency-Key', 'X-Own']
  const parameters = [
    ...reserved.map((name) => ({ ...header(name), required: true })),
    ...[
      header('X-List', list),
      header('X-Map', map),
      { name: 'session', in: 'cookie', schema: text },
      { name: 'key', in: 'query', schema: text },
    ],
  ]
  const securitySchemes = { a: { type: 'apiKey', in: 'header', name: 'X-Key' }, b: { type: 'apiKey', in: 'query', name: 'key' } }
  const document = documentOf(site.origin, { '/a': { get: operationOf('getA', parameters) } }, { components: { securitySchemes } })
  const api = await openApi(t, { document, config: { headers: { 'x-own': 'own' } } })
  assert.deepEqual(Object.keys(api.tool('getA').schema['properties'] as object), ['X-List', 'X-Map', 'session'])
  await api.run('getA', { 'X-List': colours, 'X-Map': rgb, session: 'a b;c' })
  const { headers } = site.requests[0]!
  assert.deepEqual([headers['x-list'], headers['x-map'], headers['cookie']], ['blue,black', 'R,100,G,200', 'session=a%20b%3Bc'])
  for (const value of ['a\r\nx-evil: 1', 'a\nb', '\u{1f600}'])
    await assert.rejects(api.run('getA', { 'X-List': [value] }), /cannot be sent in a header/)
  assert.equal(site.requests.length, 1)
})

test('no path parameter can lead out of the path', async (t) => {
  const site = await startSite(t, (_, response) => response.end())
  const paths = { '/files/{name}': { get: operationOf('getFile') }, '/two/{a}{b}': { get: operationOf('two') } }
  const api = await openApi(t, { document: documentOf(`${site.origin}/base`, paths) })
  const bad = ['..', '.', '../admin', 'a/../../b', '..\\admin', '%2e%2e', '%2e%2e%2fadmin', '%252e%252e%252f', 'a/..', '.%2e', '']
  for (const name of bad) await assert.rejects(api.run('getFile', { name }), /must not contain|must not be empty/, name)
  await assert.rejects(api.run('two', { a: '.', b: '.' }), /must not contain|lead out/)
  assert.equal(site.requests.length, 0)
  for (const [name, url] of [
    ['a/b', 'a%2Fb'],
    ['a?b#c', 'a%3Fb%23c'],
    ['...', '...'],
    ['a;b=c', 'a%3Bb%3Dc'],
    ['a\r\nb', 'a%0D%0Ab'],
  ] as const) {
    await api.run('getFile', { name })
    assert.equal(site.requests.at(-1)?.url, `/base/files/${url}`)
  }
})

test('a server address with very many slashes is handled quickly', async (t) => {
  const site = await startSite(t, (_, response) => response.end())
  const api = await openApi(t, { document: documentOf(`${site.origin}/${'/'.repeat(50_000)}x`, { '/a': { get: operationOf('getA') } }) })
  const work = workSince()
  // The server refuses an address of this length.
  await api.run('getA', {}).catch(() => undefined)
  assert.ok(work() < 500)
})

test('the same name in two locations is two parameters, and a conflicting body stays a single property', async (t) => {
  const site = await startSite(t, (_, response) => response.end())
  const body = (schema: object, required = true) => ({ requestBody: { required, content: { 'application/json': { schema } } } })
  const id = (location: string) => ({ name: 'id', in: location, required: location === 'path', schema: text })
  const paths = {
    '/both/{id}': { put: operationOf('both', [id('path'), id('query')], body({ type: 'object', properties: { id: text } })) },
    '/list': { post: operationOf('list', [], body(list)) },
    '/map': { post: operationOf('map', [], body(map)) },
    '/optional': { post: operationOf('optional', [], body({ type: 'object', properties: { a: text }, required: ['a'] }, false)) },
    '/odd': { get: operationOf('odd', [{ name: 'filter[name]', in: 'query', schema: text }]) },
  }
  const api = await openApi(t, { document: documentOf(site.origin, paths) })
  await api.run('both', { id: '1', query_id: '2', body: { id: '3' } })
  assert.deepEqual({ url: site.requests[0]?.url, body: site.requests[0]?.body }, { url: '/both/1?id=2', body: '{"id":"3"}' })
  await api.run('list', { body: ['a'] })
  await api.run('map', { body: { a: 'b' } })
  await api.run('optional', {})
  await api.run('optional', { body: { a: 'x' } })
  assert.deepEqual(
    site.requests.slice(1).map((received) => received.body),
    ['["a"]', '{"a":"b"}', '', '{"a":"x"}'],
  )
  await api.run('odd', { filter_name: 'x' })
  assert.equal(site.requests.at(-1)?.url, '/odd?filter%5Bname%5D=x')
})

test('forms, multipart forms and texts are sent by their media types', async (t) => {
  const site = await startSite(t, (_, response) => response.end())
  const body = (type: string, content: object) =>
    operationOf(type.replace(/\W/g, ''), [], { requestBody: { required: true, content: { [type]: content } } })
  const properties = {
    name: text,
    tags: list,
    deep: { type: 'object' },
    data: { type: 'object' },
    file: { type: 'string', format: 'binary' },
  }
  const encoding = { deep: { style: 'deepObject', explode: true } }
  const paths = {
    '/form': { post: body('application/x-www-form-urlencoded', { schema: { type: 'object', properties }, encoding }) },
    '/parts': { post: body('multipart/form-data', { schema: { type: 'object', properties } }) },
    '/text': { post: body('text/csv', { schema: text }) },
    '/merge': { patch: body('application/merge-patch+json', { schema: { type: 'object', properties: { a: text } } }) },
  }
  const api = await openApi(t, { document: documentOf(site.origin, paths) })
  await api.run('applicationxwwwformurlencoded', { name: 'a b&', tags: colours, deep: { x: { y: 1 } }, data: { z: 2 } })
  assert.equal(site.requests[0]?.body, 'name=a%20b%26&tags=blue&tags=black&deep%5Bx%5D%5By%5D=1&data=%7B%22z%22%3A2%7D')
  assert.equal(site.requests[0]?.headers['content-type'], 'application/x-www-form-urlencoded')
  await api.run('multipartformdata', { name: 'n', tags: colours, data: { z: 2 }, file: 'a,b\n1,2' })
  const [, boundary] = /^multipart\/form-data; boundary=(.+)$/.exec(site.requests[1]?.headers['content-type'] ?? '') ?? []
  const parts = site.requests[1]!.body.split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => part.trim().replaceAll('\r\n', '|'))
  assert.deepEqual(parts, [
    'Content-Disposition: form-data; name="name"||n',
    'Content-Disposition: form-data; name="tags"||blue',
    'Content-Disposition: form-data; name="tags"||black',
    'Content-Disposition: form-data; name="data"; filename="blob"|Content-Type: application/json||{"z":2}',
    'Content-Disposition: form-data; name="file"; filename="file"|Content-Type: text/plain||a,b\n1,2',
  ])
  await api.run('textcsv', { body: 'a,b' })
  await api.run('applicationmergepatchjson', { a: 'x' })
  assert.deepEqual(
    site.requests.slice(2).map(({ body, headers }) => [headers['content-type'], body]),
    [
      ['text/csv', 'a,b'],
      ['application/merge-patch+json', '{"a":"x"}'],
    ],
  )
})
