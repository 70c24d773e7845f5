import { route } from '../../schemas/route.ts'
import { accessTo } from '../../../access/permissions.ts'
import type { CurrentAgent } from '../../../configuration/agent.ts'
import type { AgentConfig } from '../../../configuration/schema.ts'
import { ServiceError, invalid, type Fault } from '../../../errors.ts'
import type { App } from '../../server/app.ts'
import { EmbeddingBody, EmbeddingList, createEmbeddings } from './embeddings.ts'
import { isAgent } from './parameters.ts'
import { openAiRefusals } from './replies.ts'
import { duringPhase } from '../../server/server-timing.ts'
import { openAiErrors } from './errors.ts'
import { disconnectSignal } from '../../reader.ts'

/** Vectors of texts by the model of `llms.embedding`, for OpenAI clients. */
export function embeddingRoutes(app: App, { agent }: { agent: CurrentAgent }): void {
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
      const { config, embedder } = agent()
      const { body } = request
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
export async function toTexts(input: Input, at: Fault['loc']): Promise<string[]> {
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
