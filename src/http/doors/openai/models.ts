import { Type } from 'typebox'
import { accessTo } from '../../../access/permissions.ts'
import type { CurrentAgent } from '../../../configuration/agent.ts'
import type { AgentConfig } from '../../../configuration/schema.ts'
import { route } from '../../schemas/shared.ts'
import type { App } from '../../server/app.ts'
import { openAiErrors } from './errors.ts'
import { refuseOtherModel } from '../model-apis/parameters.ts'
import { Model, ModelList, openAiRefusals } from './replies.ts'

const ModelParams = Type.Object({ model: Type.String({ description: 'The id of the agent, as listed by `GET /v1/models`.' }) })

const tag = 'OpenAI'

const modelRefusals = openAiRefusals(401, 403, 404, 429, 500, 503)

/** The agent as a model, for OpenAI clients. */
export function modelRoutes(app: App, { agent }: { agent: CurrentAgent }): void {
  const created = Math.floor(Date.now() / 1000)
  const toModel = ({ uri_id: id }: AgentConfig) => ({ id, object: 'model', created, owned_by: 'agent-core' })

  app.get(
    '/v1/models',
    route({ access: accessTo.chat, errorShape: openAiErrors }, tag, {
      summary: 'List models; the agent is the only model',
      text: 'The list that OpenAI clients show as models. It has the agent alone; its `id` is `uri_id` of agent.yaml.',
      response: { 200: ModelList, ...modelRefusals },
    }),
    async () => ({ object: 'list', data: [toModel(agent().config)] }),
  )

  app.get(
    '/v1/models/:model',
    route({ access: accessTo.chat, errorShape: openAiErrors }, tag, {
      summary: 'Get the agent as a model',
      text: 'The agent as a model. Any name other than `uri_id`, `id` or `name` of the agent is 404.',
      parameters: { model: 'agent-core' },
      params: ModelParams,
      response: { 200: Model, ...modelRefusals },
    }),
    async (request) => {
      const { config } = agent()
      refuseOtherModel(request.params.model, config)
      return toModel(config)
    },
  )
}
