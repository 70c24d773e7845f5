import { Type } from 'typebox'
import { accessTo } from '../../../access/permissions.ts'
import type { CurrentAgent } from '../../../configuration/agent.ts'
import type { AgentConfig } from '../../../configuration/schema.ts'
import { route } from '../../schemas/shared.ts'
import type { ErrorShape } from '../../server/error-reply.ts'
import type { FastifyRequest } from 'fastify'
import type { App } from '../../server/app.ts'
import { anthropicErrors, isOfAnthropic } from '../anthropic/errors.ts'
import { anthropicRefusals, ModelInfo, ModelPage } from '../anthropic/schemas.ts'
import { refuseOtherModel } from '../model-apis/parameters.ts'
import { openAiErrors } from './errors.ts'
import { Model, ModelList, openAiRefusals } from './replies.ts'

const ModelParams = Type.Object({ model: Type.String({ description: 'The id of the agent, as listed by `GET /v1/models`.' }) })

const tag = 'OpenAI'

/** Both APIs have these paths, and paths below `/v1` that nobody has: the header `anthropic-version` tells whose client asks. */
const errorShape: ErrorShape = {
  ...openAiErrors,
  prefix: '/v1',
  refuse: (reply, error, thrown) => (isOfAnthropic(reply.request) ? anthropicErrors : openAiErrors).refuse(reply, error, thrown),
}

const anthropicReplies = anthropicRefusals(401, 403, 404, 429, 500, 503, 529)
const modelRefusals = Object.fromEntries(
  Object.entries(openAiRefusals(401, 403, 404, 429, 500, 503)).map(([status, schema]) => [
    status,
    Type.Union([schema, anthropicReplies[Number(status)]!]),
  ]),
)

/** What Anthropic's API says of a model beside its name. */
const unstated = {
  lifecycle: 'active',
  capabilities: null,
  deprecated_at: null,
  line: null,
  max_input_tokens: null,
  max_tokens: null,
  retires_at: null,
}

/** The agent as a model, for clients of OpenAI's and Anthropic's API. */
export function modelRoutes(app: App, { agent }: { agent: CurrentAgent }): void {
  const created = Math.floor(Date.now() / 1000)
  const createdAt = new Date(created * 1000).toISOString()

  function toModel({ uri_id: id, name }: AgentConfig, request: FastifyRequest): object {
    if (!isOfAnthropic(request)) return { id, object: 'model', created, owned_by: 'agent-core' }
    return { type: 'model', id, display_name: name, created_at: createdAt, ...unstated }
  }

  app.get(
    '/v1/models',
    route({ access: accessTo.chat, errorShape }, tag, {
      summary: 'List models; the agent is the only model',
      text: 'The list that clients of OpenAI, and with the header `anthropic-version` clients of Anthropic, show as models. It has the agent alone; its `id` is `uri_id` of agent.yaml.',
      response: { 200: Type.Union([ModelList, ModelPage]), ...modelRefusals },
    }),
    async (request) => {
      const { config } = agent()
      const data = [toModel(config, request)]
      return isOfAnthropic(request) ? { data, has_more: false, first_id: config.uri_id, last_id: config.uri_id } : { object: 'list', data }
    },
  )

  app.get(
    '/v1/models/:model',
    route({ access: accessTo.chat, errorShape }, tag, {
      summary: 'Get the agent as a model',
      text: 'The agent as a model. Any name other than `uri_id`, `id` or `name` of the agent is 404.',
      parameters: { model: 'agent-core' },
      params: ModelParams,
      response: { 200: Type.Union([Model, ModelInfo]), ...modelRefusals },
    }),
    async (request) => {
      const { config } = agent()
      refuseOtherModel(request.params.model, config)
      return toModel(config, request)
    },
  )
}
