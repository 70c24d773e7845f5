import { Type } from 'typebox'
import type { CurrentAgent } from '../../../configuration/agent.ts'
import { ServiceError } from '../../../errors.ts'
import type { App } from '../../server/app.ts'
import { langGraphErrors, prefix } from './errors.ts'
import { assistantId, graphId, isAssistant } from './state.ts'
import { unlisted } from './threads.ts'

const config = { access: ['metadata.read'] as const, errorShape: langGraphErrors }
const params = Type.Object({ assistant_id: Type.String({ maxLength: 200 }) })
const Search = Type.Object({ graph_id: Type.Optional(Type.Unknown()), offset: Type.Integer({ minimum: 0, default: 0 }) })

const stateSchema = { type: 'object', properties: { messages: { type: 'array', items: { type: 'object' } } }, required: ['messages'] }
const started = new Date().toISOString()

interface Services {
  agent: CurrentAgent
  version: string
}

/** The agent as the one assistant, and what clients ask about the server. */
export function assistantRoutes(app: App, { agent, version }: Services): void {
  app.get(`${prefix}/ok`, { config: { access: 'public', errorShape: langGraphErrors }, schema: unlisted }, async () => ({ ok: true }))
  app.get(`${prefix}/info`, { config: { access: 'public', errorShape: langGraphErrors }, schema: unlisted }, async () => ({
    version,
    flags: { assistants: true, crons: false, langsmith: false },
  }))

  app.post(`${prefix}/assistants/search`, { config, schema: { ...unlisted, body: Search } }, async (request) => {
    const { graph_id: graph, offset } = request.body
    return offset > 0 || (graph !== undefined && graph !== null && graph !== graphId) ? [] : [toAssistant(agent)]
  })

  const url = `${prefix}/assistants/:assistant_id`
  app.get(url, { config, schema: { ...unlisted, params } }, async (request) => {
    requireAssistant(request.params.assistant_id)
    return toAssistant(agent)
  })

  app.get(`${url}/schemas`, { config, schema: { ...unlisted, params } }, async (request) => {
    requireAssistant(request.params.assistant_id)
    const empty = { type: 'object', properties: {} }
    return {
      graph_id: graphId,
      input_schema: stateSchema,
      output_schema: stateSchema,
      state_schema: stateSchema,
      config_schema: empty,
      context_schema: empty,
    }
  })

  app.get(`${url}/graph`, { config, schema: { ...unlisted, params } }, async (request) => {
    requireAssistant(request.params.assistant_id)
    const names = ['__start__', 'agent', 'tools', '__end__']
    const edges = [
      { source: '__start__', target: 'agent' },
      { source: 'agent', target: 'tools', conditional: true },
      { source: 'tools', target: 'agent' },
      { source: 'agent', target: '__end__', conditional: true },
    ]
    return { nodes: names.map((id) => ({ id, type: id.startsWith('__') ? 'schema' : 'runnable', data: { name: id } })), edges }
  })
}

function requireAssistant(id: string): void {
  if (!isAssistant(id))
    throw new ServiceError('not_found', `There is no assistant ${id}: the agent of this service is the assistant ${graphId}.`)
}

function toAssistant(agent: CurrentAgent): object {
  const { name, description } = agent().config
  return {
    assistant_id: assistantId,
    graph_id: graphId,
    name,
    description,
    config: {},
    context: {},
    metadata: { created_by: 'system' },
    version: 1,
    created_at: started,
    updated_at: started,
  }
}
