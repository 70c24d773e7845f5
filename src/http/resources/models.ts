import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import { accessTo } from '../../access/permissions.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import type { AgentConfig } from '../../configuration/schema.ts'
import { refuseOtherModel } from '../doors/openai/model-names.ts'
import { Model, ModelList, openAiRefusals } from '../doors/openai/replies.ts'

const tags = ['OpenAI']
const refusals = openAiRefusals(401, 403, 404, 429, 500, 503)

const ModelParams = Type.Object({ model: Type.String({ description: 'The id of the agent, as listed by `GET /v1/models`.' }) })

/** The agent as a model, for OpenAI clients. */
export function modelRoutes(app: App, { agent }: { agent: CurrentAgent }): void {
  const created = Math.floor(Date.now() / 1000)
  const toModel = ({ uri_id: id }: AgentConfig) => ({ id, object: 'model', created, owned_by: 'agent-core' })

  app.get(
    '/v1/models',
    {
      config: { access: accessTo.chat, errorShape: 'openai' },
      schema: {
        tags,
        summary: 'List models; the agent is the only model',
        details: () => ({
          description: 'The list that OpenAI clients show as models. It has the agent alone; its `id` is `uri_id` of agent.yaml.',
        }),
        response: { 200: ModelList, ...refusals },
      },
    },
    async () => ({ object: 'list', data: [toModel(agent().config)] }),
  )

  app.get(
    '/v1/models/:model',
    {
      config: { access: accessTo.chat, errorShape: 'openai' },
      schema: {
        tags,
        summary: 'Get the agent as a model',
        details: () => ({
          description: 'The agent as a model. Any name other than `uri_id`, `id` or `name` of the agent is 404.',
          parameters: { model: 'agent-core' },
        }),
        params: ModelParams,
        response: { 200: Model, ...refusals },
      },
    },
    async (request) => {
      const { config } = agent()
      refuseOtherModel(request.params.model, config)
      return toModel(config)
    },
  )
}
