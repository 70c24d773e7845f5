import { replies, route, Id, namedObject, closed, toIso } from '../schemas/shared.ts'
import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import { workflowTypes } from '../../configuration/schema.ts'
import { subAgentLimits, type SubAgent } from '../../sub-agents/sub-agent-store.ts'
import type { SubAgents } from '../../sub-agents/sub-agents.ts'
import { principalOf } from '../server/authenticate.ts'

const whereId = 'Take an id from `GET /core/v1/chain/sub_agents`, or `sub_agent_id` from the reply that created it.'

const CreateBody = closed({
  name: Type.String({ minLength: 1, maxLength: subAgentLimits.name, pattern: subAgentLimits.namePattern }),
  description: Type.String({ maxLength: subAgentLimits.description, default: '' }),
  objective: Type.String({ maxLength: subAgentLimits.objective, default: '' }),
  tools: Type.Array(Type.String({ minLength: 1, maxLength: subAgentLimits.toolName }), {
    maxItems: subAgentLimits.tools,
    default: [],
    description: 'Names of tools.',
  }),
  workflow_type: Type.Enum([...workflowTypes], { default: 'react' }),
})

const fields = {
  id: Type.String(),
  name: Type.String(),
  description: Type.String(),
  status: Type.Enum(['initializing', 'ready', 'busy', 'error']),
  created_at: Type.String({ format: 'date-time' }),
  last_active: Type.String({ format: 'date-time' }),
}
const SubAgentReply = namedObject('SubAgentState', fields)
const Listed = namedObject('SubAgent', {
  ...fields,
  objective: Type.String(),
  tools: Type.Array(Type.String()),
  workflow_type: Type.String(),
})
const Created = Type.Object({ sub_agent_id: Type.String(), sub_agent_info: SubAgentReply })
const Terminated = Type.Object({ sub_agent_id: Type.String(), status: Type.Enum(['terminated']) })
const params = Type.Object({ sub_agent_id: Id })
const path = '/core/v1/chain/sub_agents'

const tag = 'Sub-agents'

/** Routes of sub-agents: specialised agents of a caller, to which the agent delegates tasks. */
export const subAgentRoutes = [listRoute, createRoute, readRoute, endRoute] as const

function listRoute(app: App, { subAgents }: { subAgents: SubAgents }): void {
  app.get(
    path,
    route('sub_agents.read', tag, {
      summary: 'List sub-agents',
      text: "The caller's sub-agents, those that the agent created for the caller included.",
      response: replies({ 200: Type.Object({ sub_agents: Type.Array(Listed) }) }),
    }),
    async (request) => {
      const list = await subAgents.list(principalOf(request))
      return { sub_agents: list.map((subAgent) => toListed(subAgent, subAgents)) }
    },
  )
}

function createRoute(app: App, { subAgents }: { subAgents: SubAgents }): void {
  app.post(
    path,
    route('sub_agents.write', tag, {
      summary: 'Create a sub-agent',
      text: `Creates a specialised agent for the caller. In the caller's chats, the agent sees it as a tool with the input \`{task}\` and delegates tasks that fit its \`description\`. \`objective\` is its system prompt, \`tools\` are the tools that it may use, \`workflow_type: plan_execute\` lets it plan first. It stays until it is terminated.

- 409 \`SubAgentExists\`: the caller has a sub-agent of this name; names are unique per caller. \`SubAgentLimit\`: the caller has \`sub_agents.max\` (16) of them.
- 422: a tool is not known.`,
      examples: {
        analyst: {
          summary: 'A sub-agent for sales figures',
          value: {
            name: 'Analyst',
            description: 'Answers questions about the sales figures.',
            objective: 'Answer questions about the sales figures. Name the table that a number comes from.',
            tools: ['sales'],
          },
        },
      },
      body: CreateBody,
      response: replies({ 200: Created }, 409),
    }),
    async (request) => {
      const { workflow_type: workflowType, ...body } = request.body
      const caller = principalOf(request)
      const subAgent = await subAgents.create(caller, { ...body, workflowType }, 'caller', caller)
      return { sub_agent_id: subAgent.id, sub_agent_info: toReply(subAgent, subAgents) }
    },
  )
}

function readRoute(app: App, { subAgents }: { subAgents: SubAgents }): void {
  app.get(
    `${path}/:sub_agent_id`,
    route('sub_agents.read', tag, {
      summary: 'Get a sub-agent',
      text: `\`status\` is \`initializing\`, \`ready\`, \`busy\` while it works, or \`error\` after a task that failed. ${whereId} A terminated sub-agent is 404.`,
      params,
      response: replies({ 200: SubAgentReply }, 404, 422),
    }),
    async (request) => {
      const { sub_agent_id: id } = request.params
      return toReply(await subAgents.find(principalOf(request), id), subAgents)
    },
  )
}

function endRoute(app: App, { subAgents }: { subAgents: SubAgents }): void {
  app.delete(
    `${path}/:sub_agent_id`,
    route('sub_agents.write', tag, {
      summary: 'Terminate a sub-agent and cancel its work',
      text: `Ends the sub-agent and cancels what it works on; the chat that delegated the task goes on without its result. ${whereId}`,
      params,
      response: replies({ 200: Terminated }, 404, 422),
    }),
    async (request) => {
      const { sub_agent_id: id } = request.params
      const caller = principalOf(request)
      await subAgents.terminate(caller, id, caller)
      return { sub_agent_id: id, status: 'terminated' }
    },
  )
}

function toReply(subAgent: SubAgent, { statusOf }: SubAgents): Type.Static<typeof SubAgentReply> {
  const { id, name, description, createdAt, lastActive } = subAgent
  return { id, name, description, status: statusOf(subAgent), created_at: toIso(createdAt), last_active: toIso(lastActive) }
}

function toListed(subAgent: SubAgent, subAgents: SubAgents): Type.Static<typeof Listed> {
  const { objective, tools, workflowType } = subAgent
  return { ...toReply(subAgent, subAgents), objective, tools, workflow_type: workflowType }
}
