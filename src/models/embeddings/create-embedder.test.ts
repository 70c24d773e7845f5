import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { startModelServer, type ModelScript } from '../../../test/fixtures/model-server.ts'
import { ModelError } from '../../agent/model.ts'
import { ConfigError } from '../../configuration/problems.ts'
import type { ModelConfig } from '../../configuration/schema.ts'
import { createConnections } from '../connections.ts'
import { createEmbedder } from './create-embedder.ts'

const signal = new AbortController().signal

async function start(t: TestContext, script: ModelScript, config: Partial<ModelConfig> = {}) {
  const server = await startModelServer(script)
  const connections = createConnections()
  t.after(async () => {
    await connections.close()
    await server.close()
  })
  const whole = { provider: 'openai-compatible', model: 'small', base_url: server.url, api_key: 'secret-key', ...config } as ModelConfig
  const embedder = createEmbedder(whole, { environment: {}, connections })!
  return { server, embedder }
}

function vectors(...embeddings: unknown[]) {
  return { body: { data: embeddings.map((embedding, index) => ({ index, embedding })).toReversed() } }
}

test('texts are sent together, and vectors are returned in their order', async (t) => {
  const { server, embedder } = await start(t, vectors([1, 2], [3, 4]))
  assert.deepEqual(await embedder.embed(['a', 'b'], signal), [
    [1, 2],
    [3, 4],
  ])
  const { url, body, headers } = server.requests[0]!
  assert.deepEqual(
    { url, body, authorization: headers.authorization },
    { url: '/v1/embeddings', body: { model: 'small', input: ['a', 'b'] }, authorization: 'Bearer secret-key' },
  )
  assert.equal(embedder.name, 'openai-compatible small')
})

test('each provider is called at its own address', async (t) => {
  for (const [provider, path, header] of [
    ['openai', '/v1/embeddings', 'authorization'],
    ['mistral', '/v1/embeddings', 'authorization'],
    ['azure', '/v1/embeddings', 'api-key'],
  ] as const) {
    const { server, embedder } = await start(t, vectors([1]), { provider })
    await embedder.embed(['a'], signal)
    assert.equal(server.requests[0]!.url, path)
    assert.match(String(server.requests[0]!.headers[header]), /secret-key/)
  }
  const { server } = await start(t, vectors([1]))
  const resource = server.url.replace('/v1', '')
  const azure = await start(t, vectors([1]), { provider: 'azure', base_url: resource })
  await azure.embedder.embed(['a'], signal)
  assert.equal(server.requests[0]!.url, '/openai/deployments/small/embeddings?api-version=2024-10-21')
})

test('google and amazon-bedrock are called through their packages, in batches of the allowed size', async (t) => {
  const google = await start(
    t,
    { body: { embeddings: [{ values: [1, 2] }, { values: [3, 4] }] } },
    { provider: 'google', model: 'gemini-embedding-001' },
  )
  assert.deepEqual(await google.embedder.embed(['a', 'b'], signal), [
    [1, 2],
    [3, 4],
  ])
  const titan = { provider: 'amazon-bedrock', model: 'amazon.titan-embed-text-v2:0', region: 'eu-central-1' } as const
  const bedrock = await start(t, (_, index) => ({ body: { embedding: [index, 1], inputTextTokenCount: 1 } }), titan)
  assert.deepEqual(await bedrock.embedder.embed(['a', 'b'], signal), [
    [0, 1],
    [1, 1],
  ])
})

test('failures are model errors without the key', async (t) => {
  for (const [script, code] of [
    [{ status: 401, body: { error: { message: 'wrong key secret-key' } } }, 'unauthorized'],
    [{ status: 429, body: {} }, 'rate_limited'],
    [{ status: 500, body: 'oops secret-key' }, 'unavailable'],
    [{ body: 'no json' }, 'unavailable'],
    [vectors([1, 2]), 'unavailable'],
    [vectors([1, 2], [1]), 'unavailable'],
    [vectors([1, 'x'], [1, 2]), 'unavailable'],
    [vectors([], []), 'unavailable'],
    [{ body: { data: [null, 7] } }, 'unavailable'],
  ] as const) {
    const { embedder } = await start(t, script)
    await assert.rejects(embedder.embed(['a', 'b'], signal), (error: unknown) => {
      assert.ok(error instanceof ModelError, String(error))
      assert.equal(error.code, code, error.message)
      assert.ok(!error.message.includes('secret-key'))
      return true
    })
  }
})

test('a silent server is abandoned, and so is a request whose caller has disconnected', async (t) => {
  const { embedder } = await start(t, { silentAfter: 0 }, { first_token_timeout: 0.2 })
  await assert.rejects(embedder.embed(['a'], signal), ModelError)
  const leaving = new AbortController()
  const embedding = embedder.embed(['a'], leaving.signal)
  leaving.abort(new Error('gone'))
  await assert.rejects(embedding, /gone/)
})

test('a provider without embedding models is refused by name', () => {
  const deps = { environment: {}, connections: createConnections() }
  assert.throws(() => createEmbedder({ provider: 'anthropic', model: 'x' }, deps), ConfigError)
  assert.throws(() => createEmbedder({ provider: 'openai', model: 'x' }, deps), /llms\.embedding.*api_key/s)
  assert.equal(createEmbedder(undefined, deps), undefined)
})
