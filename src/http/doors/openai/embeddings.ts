import { object, maybe, route } from '../../schemas/shared.ts'
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { Type } from 'typebox'
import { type Embedder, ModelError } from '../../../agent/model.ts'
import { invalid, ServiceError, type Fault } from '../../../errors.ts'
import { accessTo } from '../../../access/permissions.ts'
import type { Budgets } from '../../../budgets/budgets.ts'
import type { CurrentAgent } from '../../../configuration/agent.ts'
import type { AgentConfig } from '../../../configuration/schema.ts'
import type { App } from '../../server/app.ts'
import { principalOf } from '../../server/authenticate.ts'
import { disconnectSignal } from '../../reader.ts'
import { openAiErrors } from './errors.ts'
import { isAgent } from '../model-apis/parameters.ts'
import { openAiRefusals } from './replies.ts'
import { duringPhase } from '../../server/server-timing.ts'

/** OpenAI's limit of texts in a request. */
const maxTexts = 2048

/** Numbers of one answer, which is kept in memory until it is complete: 1,000 of the longest usual vectors. 32 MB. */
const maxNumbers = 4_194_304

/** Tokens of one text; OpenAI's limit is 8,192. */
const Tokens = Type.Array(Type.Integer({ minimum: 0 }), { minItems: 1, maxItems: 8192 })

const EmbeddingBody = object('Texts to be turned into vectors.', {
  model: Type.String({ minLength: 1, description: 'The `model` of `llms.embedding`, or the name of the agent.' }),
  input: Type.Union(
    [
      Type.String({ minLength: 1 }),
      Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: maxTexts }),
      Tokens,
      Type.Array(Tokens, { minItems: 1, maxItems: maxTexts }),
    ],
    {
      description: `A text, or at most ${maxTexts} texts, whose vectors have at most ${maxNumbers} numbers together. A text may be a list of tokens of \`cl100k_base\`, which is turned into text.`,
    },
  ),
  dimensions: maybe(
    Type.Integer({ minimum: 1, maximum: 65_536 }),
    'The length of the vectors, for models that support it. Default: that of the model.',
  ),
  encoding_format: maybe(Type.Enum(['float', 'base64']), '`float` (default): a list of numbers. `base64`: 32-bit floats, little-endian.'),
  user: Type.Optional(Type.Unknown({ description: 'Ignored: the key says who asks.' })),
})

type EmbeddingBody = Type.Static<typeof EmbeddingBody>

const tokens = Type.Integer({ minimum: 0 })

const EmbeddingList = Type.Object({
  object: Type.Enum(['list']),
  data: Type.Array(
    Type.Object({
      object: Type.Enum(['embedding']),
      index: Type.Integer(),
      embedding: Type.Union([Type.Array(Type.Number()), Type.String()], { description: 'A list of numbers, or base64.' }),
    }),
  ),
  model: Type.String(),
  usage: Type.Object({ prompt_tokens: tokens, total_tokens: tokens }, { description: 'As the provider counts; 0 where it does not.' }),
})

/** Texts of one call: the reply of a provider is kept in memory, at about 40 kB for a long vector. */
const batchSize = 128
const attempts = 3
/** Numbers of all answers that are made at the same time. */
const maxNumbersTogether = 4 * maxNumbers
/** Seconds until an answer that found no memory may be asked for again. */
const retryAfter = 2
const firstDelayMs = 500

/** A vector as it is kept until the answer is complete: numbers, or base64. */
type KeptVector = Float64Array | string

/** What a request for vectors asks for. */
type EmbeddingRequest = Omit<EmbeddingBody, 'input'> & { input: readonly string[] }

/** Embeds texts for requests. */
export interface Embeddings {
  /**
   * Embeds the texts of a request, a batch at a time, and streams an `EmbeddingList` as JSON. Throws before the stream begins: `validation` for
   * more numbers than an answer may have, `overloaded` when other answers need the memory.
   */
  create(embedder: Embedder, body: EmbeddingRequest, signal: AbortSignal): Promise<Readable>
}

/** `numbersAtOnce`: numbers of all answers that are made or read at the same time. */
export function createEmbeddings(numbersAtOnce = maxNumbersTogether): Embeddings {
  let numbersTogether = 0

  /** Takes memory for an answer; returns a function that gives it back. */
  function reserve(numbers: number): () => void {
    if (numbersTogether + numbers > numbersAtOnce)
      throw new ServiceError('overloaded', 'Other requests for embeddings need the memory at the moment.', { retryAfter })
    numbersTogether += numbers
    return () => (numbersTogether -= numbers)
  }

  return {
    async create(embedder, body, signal) {
      const texts = body.input
      const toKept = body.encoding_format === 'base64' ? toBase64 : (vector: number[]) => Float64Array.from(vector)
      const vectors: KeptVector[] = []
      let tokens = 0
      let release = () => {}
      const options = { dimensions: body.dimensions ?? undefined, onTokens: (more: number) => (tokens += more) }
      if (options.dimensions !== undefined) refuseMany(texts.length, options.dimensions, 'dimensions')
      try {
        while (vectors.length < texts.length) {
          const batch = texts.slice(vectors.length, vectors.length + batchSize)
          const embedded = await embedWithRetry(() => embedder.embed(batch, signal, options), signal)
          if (vectors.length === 0) {
            const length = embedded[0]?.length ?? 0
            refuseOtherLength(length, options.dimensions)
            refuseMany(texts.length, length, 'input')
            release = reserve(texts.length * length)
          }
          for (const vector of embedded) vectors.push(toKept(vector))
        }
      } catch (error) {
        release()
        throw error
      }
      return Readable.from(toJson(vectors, body.model, tokens)).once('close', release)
    },
  }
}

/** The text of a vector is made when the client reads it. */
function* toJson(vectors: readonly KeptVector[], model: string, tokens: number): Generator<string, void> {
  yield '{"object":"list","data":['
  for (const [index, vector] of vectors.entries()) {
    const embedding = typeof vector === 'string' ? `"${vector}"` : `[${vector.join(',')}]`
    yield `${index === 0 ? '' : ','}{"object":"embedding","index":${index},"embedding":${embedding}}`
  }
  yield `],"model":${JSON.stringify(model)},"usage":${JSON.stringify({ prompt_tokens: tokens, total_tokens: tokens })}}`
}

/** Throws for vectors that have more numbers together than an answer may have. */
function refuseMany(count: number, length: number, field: 'input' | 'dimensions'): void {
  if (count * length <= maxNumbers) return
  const most = Math.floor(maxNumbers / length)
  throw invalid(['body', field], `asks for ${count} vectors of ${length} numbers; an answer has at most ${most} of this length`)
}

/** Models without the parameter ignore it. */
function refuseOtherLength(length: number | undefined, dimensions: number | undefined): void {
  if (dimensions === undefined || length === dimensions) return
  throw invalid(['body', 'dimensions'], `is not supported by the model, whose vectors have ${length} numbers`, 'unsupported_parameter')
}

async function embedWithRetry(embed: () => Promise<number[][]>, signal: AbortSignal): Promise<number[][]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await embed()
    } catch (error) {
      if (!(error instanceof ModelError)) throw error
      if (!error.isRetryable || attempt === attempts) throw toServiceError(error)
      await wait(firstDelayMs * 2 ** (attempt - 1), undefined, { signal })
    }
  }
}

/** A refusal concerns the request: too long a text, or dimensions that the model does not have. */
function toServiceError(error: ModelError): ServiceError {
  if (error.code === 'refused') return new ServiceError('invalid_input', error.message, { cause: error })
  return new ServiceError('model_unavailable', `No embeddings could be made: ${error.message}`, { cause: error })
}

function toBase64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [at, value] of vector.entries()) bytes.writeFloatLE(value, at * 4)
  return bytes.toString('base64')
}

/** Vectors of texts by the model of `llms.embedding`, for OpenAI clients. */
export function embeddingRoutes(app: App, { agent, budgets }: { agent: CurrentAgent; budgets: Pick<Budgets, 'modelsFor'> }): void {
  const embeddings = createEmbeddings()
  app.post(
    '/v1/embeddings',
    route({ access: accessTo.chat, errorShape: openAiErrors }, 'OpenAI', {
      summary: 'Turn texts into vectors, with the model of llms.embedding',
      text: 'Turns texts into vectors with the model of `llms.embedding`, through the interface of OpenAI. 400: the provider refuses the texts or the `dimensions`. 404: another model, or none is configured. 413: the texts have more than `limits.max_input_characters` characters together. 502: the provider could not answer.',
      examples: {
        texts: {
          summary: 'Two texts',
          value: { model: 'text-embedding-3-small', input: ['a cup', 'a lamp'], encoding_format: 'float' },
        },
      },
      body: EmbeddingBody,
      response: { 200: EmbeddingList, ...openAiRefusals(400, 401, 403, 404, 413, 415, 429, 500, 502, 503) },
    }),
    async (request, reply) => {
      const current = agent()
      const { config } = current
      const { body } = request
      const { tenant, owner, roles } = principalOf(request)
      const { embedder } = budgets.modelsFor({ tenant, owner, roles, operation: 'embeddings' }, current)
      if (!embedder || !(body.model === config.llms.embedding?.model || isAgent(body.model, config))) throw noModel(body.model, config)
      const input = await toTexts(body.input, ['body', 'input'])
      refuseLong(input, config.limits.max_input_characters)
      const create = () => embeddings.create(embedder, { ...body, input }, disconnectSignal(reply))
      return reply.type('application/json; charset=utf-8').send(await duringPhase(request, 'model', create))
    },
  )
}

function noModel(model: string, { llms, uri_id: uriId }: AgentConfig): ServiceError {
  const remedy = llms.embedding ? `use ${llms.embedding.model} or ${uriId}` : 'this agent has no llms.embedding'
  const faults = [{ loc: ['body', 'model'], msg: `there is no embedding model ${model}; ${remedy}`, type: 'model_not_found' }]
  return new ServiceError('not_found', `There is no embedding model ${model}.`, { faults })
}

function refuseLong(texts: readonly string[], maxCharacters: number): void {
  const characters = texts.reduce((sum, text) => sum + text.length, 0)
  if (characters <= maxCharacters) return
  throw new ServiceError('input_too_large', `The texts must have at most ${maxCharacters} characters together, but have ${characters}.`)
}

/**
 * Texts of `cl100k_base`, the encoding of OpenAI's embedding models. LangChain's Python client sends texts as its tokens, also to other models,
 * which read text alone.
 */

/** The bytes of each token, in base64. Loaded with the first request that has tokens. */
let loading: Promise<readonly string[]> | undefined

async function load(): Promise<readonly string[]> {
  const { default: encoding } = await import('js-tiktoken/ranks/cl100k_base')
  const tokens: string[] = []
  // A line has a mark, the number of its first token, and the tokens.
  for (const line of encoding.bpe_ranks.split('\n')) {
    const [, first, ...texts] = line.split(' ')
    for (const [index, text] of texts.entries()) tokens[Number(first) + index] = text
  }
  for (const [text, token] of Object.entries(encoding.special_tokens)) tokens[token] = Buffer.from(text).toString('base64')
  return tokens
}

type Input = string | string[] | number[] | number[][]

/** The texts of `input`: texts, or tokens of one or several texts. Throws a validation error for a token that the encoding does not have. */
async function toTexts(input: Input, at: Fault['loc']): Promise<string[]> {
  if (typeof input === 'string') return [input]
  if (input.every((text) => typeof text === 'string')) return input
  const table = await (loading ??= load())
  const isOneText = input.every((token) => typeof token === 'number')
  return isOneText ? [decode(table, input, at)] : input.map((tokens, index) => decode(table, tokens, [...at, index]))
}

function decode(table: readonly string[], tokens: readonly number[], at: Fault['loc']): string {
  const bytes = tokens.map((token, index) => {
    const text = table[token]
    if (text !== undefined) return Buffer.from(text, 'base64')
    throw invalid([...at, index], 'is no token of cl100k_base: send texts, in LangChain with check_embedding_ctx_length=False')
  })
  return Buffer.concat(bytes).toString()
}
