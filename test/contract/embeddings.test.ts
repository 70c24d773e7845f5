import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Tiktoken } from 'js-tiktoken/lite'
import OpenAI from 'openai'
import { startModelServer, type ModelScript, type ModelServerRequest } from '../fixtures/model-server.ts'
import { startService } from '../fixtures/service.ts'

/** Vectors of three numbers: the length of the text, and the numbers of a vector that stays the same. */
function embed({ body }: ModelServerRequest) {
  const data = body.input.map((text: string, index: number) => ({ index, embedding: [text.length, 0.5, -1.25].slice(0, body.dimensions) }))
  return { body: { data, usage: { prompt_tokens: body.input.length * 2, total_tokens: body.input.length * 2 } } }
}

async function start(t: TestContext, script: ModelScript = embed) {
  const embedder = await startModelServer(script)
  t.after(() => embedder.close())
  const embedding = { provider: 'openai-compatible', model: 'small', base_url: embedder.url, api_key: 'k' }
  const config = { llms: { primary: { provider: 'embedded', model: 'rules-1' }, embedding }, limits: { max_input_characters: 20_000 } }
  const service = await startService(t, { config })
  const openai = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: (await service.key()).key, maxRetries: 0 })
  return { embedder, service, openai }
}

test('Embeddings: texts become vectors, as numbers or base64, in batches, with their usage', async (t) => {
  const { openai, embedder, service } = await start(t)
  // The client asks for base64 and decodes it.
  const { data, usage, model } = await openai.embeddings.create({ model: 'small', input: ['a', 'bcd'] })
  assert.deepEqual(
    data.map(({ index, embedding }) => [index, embedding]),
    [
      [0, [1, 0.5, -1.25]],
      [1, [3, 0.5, -1.25]],
    ],
  )
  assert.deepEqual([usage, model], [{ prompt_tokens: 4, total_tokens: 4 }, 'small'])
  const short = await openai.embeddings.create({ model: 'small', input: 'abcd', dimensions: 2, encoding_format: 'float' })
  assert.deepEqual(short.data[0]?.embedding, [4, 0.5])
  const many = await openai.embeddings.create({ model: 'small', input: Array.from({ length: 300 }, (_, n) => 'x'.repeat((n % 9) + 1)) })
  assert.deepEqual([many.data.length, many.data[299]?.embedding[0], many.usage.prompt_tokens], [300, 3, 600])
  assert.deepEqual(
    embedder.requests.map(({ body }) => body.input.length),
    [2, 1, 128, 128, 44],
  )
  const raw = await service.client.request('POST', '/v1/embeddings', { body: { model: 'small', input: 'a', encoding_format: 'base64' } })
  assert.equal(raw.body.data[0].embedding, Buffer.from(Float32Array.of(1, 0.5, -1.25).buffer).toString('base64'))
})

test('Embeddings: tokens are the texts that they encode, and the name of the agent is the model of llms.embedding', async (t) => {
  const { openai, embedder } = await start(t)
  const { default: ranks } = await import('js-tiktoken/ranks/cl100k_base')
  const tokenizer = new Tiktoken(ranks)
  const texts = ['Hello world', 'Grüezi 🧀 mitenand — 你好，世界', '  {"a": [1, 2]}\n\t', '<|endoftext|>']
  const input = texts.map((text) => tokenizer.encode(text, 'all'))
  const { data, model } = await openai.embeddings.create({ model: 'agent-core', input })
  assert.deepEqual([data.length, model], [4, 'agent-core'])
  await openai.embeddings.create({ model: 'small', input: input[1]! })
  assert.deepEqual(
    embedder.requests.map(({ body }) => [body.model, body.input]),
    [
      ['small', texts],
      ['small', [texts[1]]],
    ],
  )
  const long = openai.embeddings.create({ model: 'small', input: Array<number>(8000).fill(tokenizer.encode(' telecommunications')[0]!) })
  await assert.rejects(long, { status: 413 })
})

test('Embeddings: what cannot be done is an error that names it', async (t) => {
  const { openai } = await start(t)
  const create = (body: object) => openai.embeddings.create({ model: 'small', input: 'a', ...body } as OpenAI.EmbeddingCreateParams)
  await assert.rejects(create({ model: 'other' }), { status: 404, param: 'model', code: 'model_not_found' })
  await assert.rejects(create({ input: [] }), { status: 400, param: 'input' })
  await assert.rejects(create({ input: [[1, 200_000]] }), {
    status: 400,
    param: 'input[0][1]',
    message: /check_embedding_ctx_length=False/,
  })
  await assert.rejects(create({ input: [[]] }), { status: 400 })
  await assert.rejects(create({ input: [['a']] }), { status: 400 })
  await assert.rejects(create({ input: ['a', 1] }), { status: 400 })
  await assert.rejects(create({ dimensions: 9 }), { status: 400, param: 'dimensions', code: 'unsupported_parameter' })
  await assert.rejects(create({ input: 'x'.repeat(20_001) }), { status: 413 })
})

test('Embeddings: an answer has a bounded size', async (t) => {
  const long = ({ body }: ModelServerRequest) => {
    const vector = Array(body.dimensions ?? 16_384).fill(0.25)
    return { body: { data: body.input.map((_: string, index: number) => ({ index, embedding: vector })) } }
  }
  const { openai, embedder } = await start(t, long)
  const create = (body: object) => openai.embeddings.create({ model: 'small', ...body } as OpenAI.EmbeddingCreateParams)
  const texts = (count: number) => Array(count).fill('a')
  await assert.rejects(create({ input: texts(65), dimensions: 65_536 }), {
    status: 400,
    param: 'dimensions',
    message: /at most 64 of this length/,
  })
  assert.equal(embedder.requests.length, 0)
  await assert.rejects(create({ input: texts(2048) }), { status: 400, param: 'input', message: /at most 256 of this length/ })
  assert.equal(embedder.requests.length, 1, 'the model is asked once')
})

test('Embeddings: a busy provider is tried again, a refusal is a 400, a provider that is down a 502', async (t) => {
  const script: ModelScript = (request, index) =>
    index === 0 ? { status: 503, body: {} } : index === 1 ? embed(request) : { status: 400, body: { error: { message: 'too long' } } }
  const { openai } = await start(t, script)
  assert.equal((await openai.embeddings.create({ model: 'small', input: 'a' })).data.length, 1)
  await assert.rejects(openai.embeddings.create({ model: 'small', input: 'a' }), { status: 400 })
  const broken = await start(t, { status: 401, body: {} })
  await assert.rejects(broken.openai.embeddings.create({ model: 'small', input: 'a' }), { status: 502 })
})

test('Embeddings: an agent without an embedding model says so', async (t) => {
  const service = await startService(t)
  const openai = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: (await service.key()).key, maxRetries: 0 })
  await assert.rejects(openai.embeddings.create({ model: 'small', input: 'a' }), {
    status: 404,
    message: /this agent has no llms\.embedding/,
  })
})
