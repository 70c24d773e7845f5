import { Type } from 'typebox'
import type { CurrentAgent } from '../../../configuration/agent.ts'
import { ServiceError } from '../../../errors.ts'
import { namedObject, object } from '../../schemas/shared.ts'
import type { App } from '../../server/app.ts'
import { doorRoute, isGiven, prefix } from './errors.ts'
import { assistantId, graphId, isAssistant } from './state.ts'

const started = new Date().toISOString()
const Json = Type.Record(Type.String(), Type.Unknown())
const params = Type.Object({
  assistant_id: Type.String({ maxLength: 200, description: 'The agent: `agent`, or the id of the assistant.' }),
})
const parameters = { assistant_id: graphId }
const Search = object('Which assistants are listed.', {
  graph_id: Type.Optional(Type.Unknown()),
  offset: Type.Integer({ minimum: 0, default: 0 }),
})

const Assistant = namedObject('LangGraphAssistant', 'The agent as the one assistant.', {
  assistant_id: Type.String(),
  graph_id: Type.String(),
  name: Type.String(),
  description: Type.String(),
  config: Json,
  context: Json,
  metadata: Json,
  version: Type.Integer(),
  created_at: Type.String(),
  updated_at: Type.String(),
})

const empty = { type: 'object', properties: {} }
const stateSchema = { type: 'object', properties: { messages: { type: 'array', items: { type: 'object' } } }, required: ['messages'] }
const ofState = { input_schema: stateSchema, output_schema: stateSchema, state_schema: stateSchema }

/** The loop of model and tools. */
const graph = {
  nodes: ['__start__', 'agent', 'tools', '__end__'].map((id) => ({
    id,
    type: id.startsWith('__') ? 'schema' : 'runnable',
    data: { name: id },
  })),
  edges: [
    { source: '__start__', target: 'agent' },
    { source: 'agent', target: 'tools', conditional: true },
    { source: 'tools', target: 'agent' },
    { source: 'agent', target: '__end__', conditional: true },
  ],
}

interface Services {
  agent: CurrentAgent
  version: string
}

/** The agent as the one assistant, and what clients ask about the server. */
export function assistantRoutes(app: App, { agent, version }: Services): void {
  const Ok = Type.Object({ ok: Type.Boolean() })
  const Info = Type.Object({ version: Type.String(), flags: Type.Record(Type.String(), Type.Boolean()) })
  app.get(
    `${prefix}/ok`,
    doorRoute({ access: 'public' }, { summary: 'Whether the server is there', text: 'Needs no access key.', response: { 200: Ok } }),
    async () => ({
      ok: true,
    }),
  )
  app.get(
    `${prefix}/info`,
    doorRoute(
      { access: 'public' },
      {
        summary: 'What the server offers',
        text: 'Needs no access key. `flags` are parts of the API of LangGraph.',
        response: { 200: Info },
      },
    ),
    async () => ({
      version,
      flags: { assistants: true, crons: false, langsmith: false },
    }),
  )

  const isListed = ({ graph_id: sent, offset }: Type.Static<typeof Search>) => offset === 0 && (!isGiven(sent) || sent === graphId)
  const examples = { all: { summary: 'All assistants', value: {} } }
  app.post(
    `${prefix}/assistants/search`,
    doorRoute(
      { access: 'metadata.read' },
      {
        summary: 'Search assistants',
        text: 'The agent is the one assistant.',
        examples,
        body: Search,
        response: { 200: Type.Array(Assistant) },
      },
    ),
    async (request) => (isListed(request.body) ? [toAssistant(agent)] : []),
  )
  app.post(
    `${prefix}/assistants/count`,
    doorRoute(
      { access: 'metadata.read' },
      {
        summary: 'Count assistants',
        text: 'The agent is the one assistant.',
        examples,
        body: Search,
        response: { 200: Type.Integer() },
      },
    ),
    async (request) => Number(isListed(request.body)),
  )

  const answers = [
    ['', 'Get an assistant', Assistant, () => toAssistant(agent)],
    [
      '/schemas',
      'Get the schemas of an assistant',
      Json,
      () => ({ graph_id: graphId, ...ofState, config_schema: empty, context_schema: empty }),
    ],
    ['/graph', 'Get the graph of an assistant', Json, () => graph],
  ] as const
  for (const [path, summary, reply, read] of answers) {
    const schema = { summary, text: '404: there is no such assistant.', parameters, params, response: { 200: reply } }
    app.get(`${prefix}/assistants/:assistant_id${path}`, doorRoute({ access: 'metadata.read' }, schema), async (request) => {
      requireAssistant(request.params.assistant_id)
      return read()
    })
  }
}

function requireAssistant(id: string): void {
  if (!isAssistant(id))
    throw new ServiceError('not_found', `There is no assistant ${id}: the agent of this service is the assistant ${graphId}.`)
}

function toAssistant(agent: CurrentAgent): Type.Static<typeof Assistant> {
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
