import type { FastifyInstance } from 'fastify'
import { accessTo } from '../../../access/permissions.ts'
import type { CurrentAgent } from '../../../configuration/agent.ts'
import type { AgentConfig } from '../../../configuration/schema.ts'
import { ServiceError } from '../../../errors.ts'
import { disconnectSignal } from '../../server/connection.ts'
import { EmbeddingBody, EmbeddingList, createEmbeddings } from './embeddings.ts'
import { isAgent } from './model-names.ts'
import { openAiRefusals } from './replies.ts'
import { toTexts } from './token-texts.ts'
import { duringPhase } from '../../server/server-timing.ts'

/** Vectors of texts by the model of `llms.embedding`, for OpenAI clients. */
export function embeddingRoutes(app: FastifyInstance, { agent }: { agent: CurrentAgent }): void {
  const embeddings = createEmbeddings()
  app.post(
    '/v1/embeddings',
    {
      config: { access: accessTo.chat, errorShape: 'openai' },
      schema: {
        tags: ['OpenAI'],
        summary: 'Turn texts into vectors, with the model of llms.embedding',
        body: EmbeddingBody,
        response: { 200: EmbeddingList, ...openAiRefusals(400, 401, 403, 404, 413, 415, 429, 500, 502, 503) },
      },
    },
    async (request, reply) => {
      const { config, embedder } = agent()
      const body = request.body as EmbeddingBody
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
