import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSite, type Site } from '../web/web-fixture.ts'
import { openApi } from './openapi-fixture.ts'

const ok = { responses: { 200: { description: 'ok', schema: { $ref: '#/definitions/Pet' }, examples: { 'application/json': {} } } } }

function swaggerOf(site: Pick<Site, 'origin'>, paths: object, extra: object = {}): object {
  return {
    swagger: '2.0',
    info: { title: 'Pets', version: '1' },
    host: new URL(site.origin).host,
    schemes: ['http'],
    basePath: '/v2',
    paths,
    ...extra,
  }
}

test('operations of Swagger 2.0 are called with bodies, forms, files and lists', async (t) => {
  const site = await startSite(t, (_, response) => response.end())
  const pet = { in: 'body', name: 'pet', required: true, schema: { $ref: '#/definitions/Pet' } }
  const list = (name: string, location: string, extra: object) => ({
    name,
    in: location,
    type: 'array',
    items: { type: 'string' },
    ...extra,
  })
  const paths = {
    '/pets/{id}': {
      parameters: [{ $ref: '#/parameters/id' }],
      put: { operationId: 'putPet', parameters: [{ $ref: '#/parameters/pet' }], ...ok },
      post: {
        operationId: 'savePet',
        consumes: ['application/x-www-form-urlencoded', 'application/json'],
        parameters: [
          { name: 'name', in: 'formData', type: 'string', required: true },
          list('tags', 'formData', {}),
          list('notes', 'formData', { collectionFormat: 'multi' }),
        ],
        ...ok,
      },
      get: {
        operationId: 'getPet',
        parameters: [
          list('a', 'query', {}),
          list('b', 'query', { collectionFormat: 'multi' }),
          list('c', 'query', { collectionFormat: 'pipes' }),
          list('d', 'query', { collectionFormat: 'ssv' }),
          list('x-e', 'header', {}),
          { name: 'limit', in: 'query', type: 'integer', default: 10, maximum: 50 },
        ],
        ...ok,
      },
    },
    '/files': {
      post: {
        operationId: 'upload',
        parameters: [
          { name: 'file', in: 'formData', type: 'file', required: true, description: 'What to keep.' },
          list('tags', 'formData', { collectionFormat: 'pipes' }),
        ],
        ...ok,
      },
    },
    '/odd': {
      get: { operationId: 'tabs', parameters: [list('a', 'query', { collectionFormat: 'tsv' })], ...ok },
      put: { operationId: 'pathPipes', parameters: [list('a', 'header', { collectionFormat: 'pipes' })], ...ok },
      post: { operationId: 'both', parameters: [pet, { name: 'a', in: 'formData', type: 'string' }], ...ok },
    },
  }
  const definitions = {
    Pet: { type: 'object', required: ['name'], properties: { name: { type: 'string' }, owner: { $ref: '#/definitions/Owner' } } },
    Owner: { type: 'object', properties: { name: { type: 'string', 'x-nullable': true } } },
  }
  const parameters = { id: { name: 'id', in: 'path', required: true, type: 'integer' }, pet }
  const api = await openApi(t, { document: swaggerOf(site, paths, { definitions, parameters }) })
  assert.deepEqual(api.tool('putPet').schema, {
    type: 'object',
    properties: {
      id: { type: 'integer' },
      name: { type: 'string' },
      owner: { type: 'object', properties: { name: { type: ['string', 'null'] } } },
    },
    required: ['id', 'name'],
    additionalProperties: false,
  })
  await api.run('putPet', { id: 7, name: 'Rex' })
  await api.run('savePet', { id: 7, name: 'Rex', tags: ['a', 'b'], notes: ['c', 'd'] })
  await api.run('getPet', { id: 7, a: ['1', '2'], b: ['1', '2'], c: ['1', '2'], d: ['1', '2'], 'x-e': ['1', '2'], limit: 5 })
  await api.run('upload', { file: 'text', tags: ['a', 'b'] })
  const [put, save, get, upload] = site.requests
  assert.deepEqual(
    [put?.method, put?.url, put?.body, put?.headers['content-type']],
    ['PUT', '/v2/pets/7', '{"name":"Rex"}', 'application/json'],
  )
  assert.deepEqual([save?.body, save?.headers['content-type']], ['name=Rex&tags=a,b&notes=c&notes=d', 'application/x-www-form-urlencoded'])
  assert.deepEqual([get?.url, get?.headers['x-e']], ['/v2/pets/7?a=1,2&b=1&b=2&c=1|2&d=1%202&limit=5', '1,2'])
  assert.match(upload!.headers['content-type']!, /^multipart\/form-data/)
  assert.match(upload!.body, /name="file"; filename="file"\r\n.*\r\n\r\ntext\r\n[^]*name="tags"\r\n\r\na\|b\r\n/)
  assert.equal(api.tool('savePet').check({ id: 7 }), 'name is required')
  assert.equal(api.tool('getPet').check({ id: 7, limit: 51 }), 'limit must be <= 50')
  const refused = api.refused()
  assert.match(refused['tabs']!, /its parameter a is a list in the format tsv, which is not supported/)
  assert.match(refused['pathPipes']!, /in the format pipes/)
  assert.match(refused['both']!, /it has both a body and form fields/)
})

test('credentials are sent as defined by the security definitions of Swagger 2.0', async (t) => {
  const site = await startSite(t, ({ url }, response) => {
    if (url !== '/token') return void response.end()
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"access_token": "t-1", "token_type": "bearer", "expires_in": 60}')
  })
  const securityDefinitions = {
    basic: { type: 'basic' },
    query: { type: 'apiKey', in: 'query', name: 'key' },
    client: { type: 'oauth2', flow: 'application', tokenUrl: `${site.origin}/token`, scopes: { read: 'Reads.' } },
    person: { type: 'oauth2', flow: 'accessCode', authorizationUrl: 'https://a.example', tokenUrl: 'https://a.example', scopes: {} },
  }
  const paths = Object.fromEntries(
    Object.keys(securityDefinitions).map((name) => [`/${name}`, { get: { operationId: name, security: [{ [name]: [] }], ...ok } }]),
  )
  const document = swaggerOf(site, paths, { securityDefinitions })
  const credentials = { basic: 'me:pass', query: 'k-1', client: 'id:secret', person: 'p-1' }
  const api = await openApi(t, { document, config: { credentials } })
  for (const name of Object.keys(credentials)) await api.run(name, {})
  const sent = (path: string) => site.requests.find(({ url }) => url?.startsWith(path))
  assert.equal(sent('/v2/basic')?.headers['authorization'], `Basic ${Buffer.from('me:pass').toString('base64')}`)
  assert.equal(sent('/v2/query')?.url, '/v2/query?key=k-1')
  assert.equal(sent('/v2/client')?.headers['authorization'], 'Bearer t-1')
  assert.equal(sent('/v2/person')?.headers['authorization'], 'Bearer p-1')
})

test('a configured header replaces the parameter of its name, and the field of a form', async (t) => {
  const site = await startSite(t, (_, response) => response.end())
  const token = (location: string) => ({ name: 'token', in: location, type: 'string', required: true })
  const text = { name: 'text', in: 'formData', type: 'string' }
  const paths = {
    '/post': { post: { operationId: 'post', parameters: [token('formData'), text], ...ok } },
    '/list': { get: { operationId: 'list', parameters: [token('query')], ...ok } },
  }
  const api = await openApi(t, {
    document: swaggerOf(site, paths),
    config: { headers: { token: '${TOKEN}' } },
    environment: { TOKEN: 't-1' },
  })
  assert.deepEqual([api.tool('post').schema['properties'], api.tool('list').schema['properties']], [{ text: { type: 'string' } }, {}])
  await api.run('post', { text: 'hello' })
  assert.deepEqual({ token: site.requests[0]?.headers['token'], body: site.requests[0]?.body }, { token: 't-1', body: 'text=hello' })
})

test('a document of Swagger 2.0 may be in several files', async (t) => {
  const site = await startSite(t, (_, response) => response.end())
  const body = { in: 'body', name: 'pet', required: true, schema: { $ref: '../swagger.json#/definitions/Pet' } }
  const files = {
    'swagger.json': swaggerOf(
      site,
      { '/pets': { $ref: 'paths/pets.json' }, '/none': { $ref: 'paths/none.json' } },
      { definitions: { Pet: { $ref: 'models/pet.yaml' } } },
    ),
    'paths/pets.json': {
      post: { operationId: 'addPet', parameters: [{ $ref: 'parameters.json#/pet' }, { $ref: 'parameters.json#/dry' }], ...ok },
    },
    'paths/parameters.json': { pet: body, dry: { name: 'dry', in: 'query', type: 'boolean' } },
    'models/pet.yaml': '{type: object, required: [name], properties: {name: {type: string}}}',
  }
  const api = await openApi(t, { files, config: { spec: 'swagger.json' } })
  await api.run('addPet', { name: 'Rex', dry: true })
  assert.deepEqual({ url: site.requests[0]?.url, body: site.requests[0]?.body }, { url: '/v2/pets?dry=true', body: '{"name":"Rex"}' })
  assert.equal(api.tool('addPet').check({ dry: true }), 'name is required')
  assert.deepEqual(api.refused(), { any_none: 'The operation cannot be used: paths/none.json does not exist.' })
})

test('servers of Swagger 2.0 are called by https by preference, and without a host at the address of the document', async (t) => {
  const site = await startSite(t, ({ url }, response) => {
    if (url !== '/api/swagger.json') return void response.end()
    response.end(JSON.stringify({ swagger: '2.0', basePath: '/v1', paths: { '/a': { get: { operationId: 'getA', ...ok } } } }))
  })
  const fetched = await openApi(t, { config: { spec: `${site.origin}/api/swagger.json` } })
  await fetched.run('getA', {})
  assert.equal(site.requests[1]?.url, '/v1/a')
  const document = {
    swagger: '2.0',
    host: '127.0.0.1:1',
    schemes: ['ws', 'http', 'https'],
    paths: { '/a': { get: { operationId: 'getA', ...ok } } },
  }
  const { toPlainSwagger, upgradeSwagger } = await import('./swagger2.ts')
  const { createReferences } = await import('./references.ts')
  const plain = toPlainSwagger(document, 'folder:/document/a', createReferences(document, 'folder:/document/a'))
  const { servers } = await upgradeSwagger(plain.document)
  assert.deepEqual(servers, [{ url: 'https://127.0.0.1:1' }, { url: 'http://127.0.0.1:1' }])
})
