import assert from 'node:assert/strict'
import { symlink } from 'node:fs/promises'
import path from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { startSite } from '../web/web-fixture.ts'
import { documentOf, openApi, operationOf, writeInto, type Opened } from './openapi-fixture.ts'

const ids = (api: Opened) => api.tools().map(({ name }) => name.slice('api__'.length))

/** `specification/api.yaml` with operations, path items, parameters, bodies and schemas in other files. */
const files = {
  'specification/api.yaml': `
openapi: 3.0.3
info: {title: Droplets, version: '1'}
servers: [{url: 'http://127.0.0.1:1'}]
paths:
  /droplets:
    post: {$ref: 'resources/droplets/create.yml'}
    delete: {$ref: './resources/droplets/delete.yml#/byTag'}
  /images/{id}: {$ref: 'resources/images.json#/~1images~1%7Bid%7D'}
components:
  schemas: {Name: {type: string, maxLength: 20}}
`,
  'specification/resources/droplets/create.yml': `
operationId: createDroplet
summary: Create a droplet.
requestBody: {$ref: bodies.yaml#/create}
`,
  'specification/resources/droplets/bodies.yaml': `
create:
  required: true
  content: {application/json: {schema: {$ref: 'models/droplet.yml'}}}
`,
  'specification/resources/droplets/models/droplet.yml': `
type: object
required: [name]
properties:
  name: {$ref: '../../../api.yaml#/components/schemas/Name'}
  size: {$ref: '#/sizes'}
  parent: {$ref: 'droplet.yml'}
sizes: {type: string, enum: [small, large]}
`,
  'specification/resources/droplets/delete.yml': `
byTag:
  operationId: deleteByTag
  parameters: [{$ref: '../../shared/parameters.yml#/tag'}]
`,
  'specification/shared/parameters.yml': 'tag: {name: tag_name, in: query, required: true, schema: {type: string}}',
  'specification/resources/images.json': { '/images/{id}': { get: operationOf('getImage') } },
}

test('operations, path items, parameters, bodies and schemas may be in other files of the folder', async (t) => {
  const api = await openApi(t, { files, config: { spec: 'specification/api.yaml' } })
  assert.deepEqual({ ids: ids(api), refused: api.refused() }, { ids: ['createDroplet', 'deleteByTag', 'getImage'], refused: {} })
  const { properties, required } = api.tool('createDroplet').schema as { properties: Record<string, any>; required: string[] }
  assert.deepEqual(
    { name: properties['name'], size: properties['size'], required },
    { name: { type: 'string', maxLength: 20 }, size: { type: 'string', enum: ['small', 'large'] }, required: ['name'] },
  )
  assert.deepEqual(properties['parent'].properties.size, properties['size'])
  assert.match(api.tool('createDroplet').description, /^Create a droplet/)
  assert.equal(api.tool('deleteByTag').check({}), 'tag_name is required')
  assert.equal(api.tool('getImage').check({}), 'id is required')
})

test('an operation with unreadable files is listed with a reason, and the others work', async (t) => {
  const body = (reference: string) => ({
    requestBody: { content: { 'application/json': { schema: { type: 'object', properties: { a: { $ref: reference } } } } } },
  })
  const paths = {
    '/a': { get: operationOf('getA') },
    '/b': { get: { $ref: 'missing.yml' }, post: operationOf('postB', [{ $ref: 'spec.yaml#/nowhere' }]) },
    '/c': { $ref: 'broken.yml#/c' },
    '/d': { post: operationOf('postD', [], body('missing.yml#/x')), put: operationOf('putD', [{ in: 'body', name: 'x' }]), get: null },
    '/e': { post: operationOf('postE', [], body('#/components/schemas/None')) },
    '/f': { post: { $ref: 'loop.yml' }, get: { $ref: 'loop.yml#anchor' } },
    'x-more': {},
  }
  const api = await openApi(t, {
    document: documentOf('http://127.0.0.1:1', paths),
    files: { 'broken.yml': 'a: [', 'loop.yml': '$ref: loop.yml' },
  })
  assert.deepEqual(ids(api), ['getA', 'postE'])
  const refused = api.refused()
  assert.deepEqual(Object.keys(refused).toSorted(), ['any_c', 'get_b', 'get_d', 'get_f', 'postB', 'postD', 'post_f', 'putD'])
  assert.equal(refused['get_b'], 'The operation cannot be used: missing.yml does not exist.')
  assert.equal(refused['postB'], 'The operation cannot be used: a parameter cannot be read: spec.yaml#/nowhere does not exist.')
  assert.equal(refused['any_c'], 'The operation cannot be used: broken.yml cannot be read: it is not YAML, in line 1.')
  assert.equal(refused['postD'], 'The operation cannot be used: missing.yml does not exist.')
  assert.match(refused['putD']!, /its parameter x is in body, which OpenAPI 3 does not support/)
  assert.match(refused['get_d']!, /it is empty/)
  assert.match(refused['post_f']!, /refers to itself/)
  assert.match(refused['get_f']!, /is not a JSON pointer/)
  assert.match(api.tool('postE').description, /Part of its input is not described: #\/components\/schemas\/None does not exist\.$/)
  const none = documentOf('http://127.0.0.1:1', { '/b': { get: { $ref: 'missing.yml' } } })
  await assert.rejects(openApi(t, { document: none }), /none of its operations can be called \(GET \/b: missing.yml does not exist\)/)
})

test('no reference can leave the folder of the document by path, link or address', async (t) => {
  const site = await startSite(t, (_, response) => response.end(JSON.stringify({ get: operationOf('other') })))
  const outside = { get: operationOf('outside') }
  const references: Record<string, RegExp> = {
    '../outside.yml': /is outside of the document's folder/,
    '../../../../../../../../etc/passwd.yml': /is outside of the document's folder/,
    'a/../../outside.yml': /is outside of the document's folder/,
    '%2e%2e/outside.yml': /is outside of the document's folder/,
    '..%2Foutside.yml': /is outside of the document's folder/,
    '..%5Coutside.yml': /is outside of the document's folder/,
    '/etc/passwd.yml': /is outside of the document's folder/,
    '//127.0.0.1/x.yml': /is not a file/,
    'file:///etc/passwd': /is not a file/,
    [`${site.origin}/x.yml`]: /is not a file/,
    'http://169.254.169.254/latest/meta-data': /is not a file/,
    'link.yml': /is outside of the document's folder/,
    'linked/outside.yml': /is outside of the document's folder/,
    'notes.txt': /is not a .yaml, .yml or .json file/,
    'text.yml': /is not a .yaml, .yml or .json file/,
    '.hidden.yml': /is hidden/,
    '.agent-core/config.json': /is hidden/,
    'folder.yml': /is not a file/,
    '': /has no operations/,
  }
  const names = Object.keys(references)
  const paths = Object.fromEntries([
    ...names.map((reference, index) => [`/${index}`, { $ref: reference }]),
    ['/own', { get: operationOf('own') }],
  ])
  const hidden = { 'inner/.hidden.yml': outside, 'inner/.agent-core/config.json': outside, 'inner/notes.txt': outside }
  const folder = { 'inner/folder.yml/a.yml': outside, 'outside.yml': outside, 'inner/spec.yaml': documentOf('http://127.0.0.1:1', paths) }
  const { folder: root } = await openApi(t, {
    files: {
      'inner/spec.yaml': documentOf('http://127.0.0.1:1', { '/own': paths['/own'] }),
      ...hidden,
      'spec.yaml': documentOf('http://127.0.0.1:1', { '/own': paths['/own'] }),
    },
  })
  for (const [name, content] of Object.entries(folder)) await writeInto(root, name, content)
  await symlink('../outside.yml', path.join(root, 'inner/link.yml'))
  await symlink('notes.txt', path.join(root, 'inner/text.yml'))
  await symlink('..', path.join(root, 'inner/linked'))
  const api = await openApi(t, { config: { spec: 'inner/spec.yaml' }, folder: root })
  assert.deepEqual(ids(api), ['own'])
  const refused = api.refused()
  for (const [index, name] of names.entries()) assert.match(refused[`any_${index}`] ?? 'used', references[name]!, name)
  assert.equal(site.requests.length, 0)
})

test('a change in a referenced file replaces the tools', async (t) => {
  const paths = { '/a': { $ref: 'items/a.yml' }, '/b': { $ref: 'items/b.yml' } }
  const document = documentOf('http://127.0.0.1:1', paths)
  const api = await openApi(t, { document, files: { 'items/a.yml': { get: operationOf('getA') } }, everyMs: 20 })
  assert.deepEqual({ ids: ids(api), keys: Object.keys(api.refused()) }, { ids: ['getA'], keys: ['any_b'] })
  await writeInto(api.folder, 'items/b.yml', { get: operationOf('getB') })
  await until(() => ids(api).join() === 'getA,getB')
  assert.deepEqual(api.refused(), {})
  await writeInto(api.folder, 'items/a.yml', { get: operationOf('getOther') })
  await until(() => ids(api).join() === 'getOther,getB')
})

async function until(isSo: () => boolean): Promise<void> {
  for (const end = Date.now() + 30_000; !isSo(); await wait(20)) assert.ok(Date.now() < end, 'it does not come about')
}

test('a fetched document may refer to files on its own origin only, fetched with the configured headers', async (t) => {
  const otherOrigin = await startSite(t, (_, response) => response.end(JSON.stringify({ get: operationOf('other') })))
  const paths = {
    '/own': { get: operationOf('own') },
    '/near': { $ref: 'items/near.yml#/item' },
    '/other': { $ref: `${otherOrigin.origin}/x.yml` },
    '/away': { $ref: '/away.yml' },
    '/file': { $ref: 'file:///etc/passwd' },
    '/none': { $ref: '/none.yml' },
    '/user': { $ref: 'http://me:secret@127.0.0.1:1/x.yml' },
  }
  let near: object = { item: { get: { ...operationOf('near'), parameters: [{ $ref: '../shared.json#/limit' }] } } }
  const site = await startSite(t, ({ url, headers }, response) => {
    if (url === '/away.yml') return void response.writeHead(302, { location: `${otherOrigin.origin}/x.yml` }).end()
    const content =
      url === '/v1/api.yaml' ? documentOf('/', paths) : url === '/v1/items/near.yml' ? near : url === '/v1/shared.json' ? shared : undefined
    if (content === undefined) return void response.writeHead(404).end()
    const text = JSON.stringify(content)
    const etag = `"${text.length}"`
    if (headers['if-none-match'] === etag) response.writeHead(304).end()
    else response.writeHead(200, { etag }).end(text)
  })
  const shared = { limit: { name: 'limit', in: 'query', schema: { type: 'integer' } } }
  const config = { spec: `${site.origin}/v1/api.yaml`, headers: { 'x-key': '${KEY}' } }
  const api = await openApi(t, { config, environment: { KEY: 'secret-value' }, allowed: ['127.0.0.1'], everyMs: 20 })
  assert.deepEqual(ids(api), ['own', 'near'])
  assert.deepEqual(api.tool('near').schema['properties'], { limit: { type: 'integer' } })
  const refused = api.refused()
  assert.match(refused['any_other']!, /is not at http:\/\/127.0.0.1:\d+, where the document is/)
  assert.match(refused['any_away']!, /leads to another origin/)
  assert.match(refused['any_file']!, /is not at/)
  assert.match(refused['any_none']!, /the server answered 404/)
  assert.match(refused['any_user']!, /is not at/)
  assert.equal(otherOrigin.requests.length, 0)
  assert.ok(site.requests.every(({ headers }) => headers['x-key'] === 'secret-value'))
  near = { item: { get: operationOf('nearer') } }
  await until(() => ids(api).includes('nearer'))
})
