import type { JsonObject, JsonSchema } from '../agent/messages.ts'
import { ownMarks } from '../agent/taint.ts'
import type { Tool } from '../agent/tool.ts'
import { findTool, fitName, namesOf } from '../agent/tool-names.ts'
import { groupsOf, maxOffered } from '../agent/tool-offer.ts'
import { workflowTypes, type AgentConfig, type WorkflowType } from '../configuration/schema.ts'
import { ServiceError } from '../errors.ts'
import type { ParentRun } from './delegate.ts'
import { createDelegation } from './delegation.ts'
import { subAgentLimits, type NewSubAgent, type SubAgent, isEntry } from './sub-agent-store.ts'

/**
 * The tools for sub-agents: to give each of `list` tasks, and to create and end sub-agents of the agent itself. Each is offered only when
 * useful: `create_sub_agent` to an agent with tools, `end_sub_agent` when there is a sub-agent to end. The returned list is another where the tools change.
 */
export function createSubAgentTools(parent: ParentRun, list: readonly SubAgent[]): () => readonly Tool[] {
  const { may_create: mayCreate, max } = parent.agent.config.sub_agents
  const canCreate = mayCreate && max > 0 && parent.tools.length > 0
  return canCreate || list.length > 0 ? createTools(parent, [...list], canCreate) : noTools
}

/** For most runs. */
const none: readonly Tool[] = []
const noTools = () => none

function createTools(parent: ParentRun, subAgents: SubAgent[], canCreate: boolean): () => readonly Tool[] {
  let current: readonly Tool[] | undefined
  const onChange = () => (current = undefined)
  const create = canCreate ? createTool(parent, subAgents, onChange) : undefined
  let end: Tool | undefined
  let delegates: (() => Tool[]) | undefined
  return () => (current ??= makeTools())

  function makeTools(): readonly Tool[] {
    const own = create ? [create] : []
    if (subAgents.length === 0) return own
    if (parent.agent.config.sub_agents.may_create && subAgents.some(({ madeBy }) => madeBy === 'agent'))
      own.push((end ??= endTool(parent, subAgents, onChange)))
    delegates ??= createDelegation(parent, subAgents)
    return [...delegates(), ...own]
  }
}

const traits = { effect: 'write', filters: false, timeoutMs: 30_000, maxOutputCharacters: 2000, marks: ownMarks } as const

const text = (description: string, maxLength: number) => ({ type: 'string', description, maxLength })

const newTexts = {
  name: text('Its name.', subAgentLimits.name),
  description: text('What it is for, in a sentence.', subAgentLimits.description),
  objective: text('Its goal, as it is told itself.', subAgentLimits.objective),
}

function createTool(parent: ParentRun, list: SubAgent[], onChange: () => void): Tool {
  const toolsByName = namesOf(parent.tools)
  return {
    ...traits,
    name: 'create_sub_agent',
    description:
      'Creates a sub-agent: an agent of its own with some of your tools, to which you can give tasks from your next turn on. ' +
      'For work that is large or wanted again and again; small things you do yourself.',
    schema: toCreateSchema(parent.agent.config, choicesOf(toolsByName)),
    check: checkNew,
    async execute(input) {
      const { caller, subAgents } = parent
      const subAgent = await reportFaults(parent, () => subAgents.create(caller, toNew(input, toolsByName, parent.agent.config), 'agent'))
      list.push(subAgent)
      onChange()
      return `Created. Give it tasks with ${fitName(`sub_agent:${subAgent.name}`)}.`
    },
  }
}

/** The last schema of each configuration. What a model adapter makes of a schema is kept as long as the schema. */
const createSchemas = new WeakMap<AgentConfig, { choices: string; schema: JsonSchema }>()

function toCreateSchema(config: AgentConfig, choices: string): JsonSchema {
  const last = createSchemas.get(config)
  if (last?.choices === choices) return last.schema
  const tools = {
    type: 'array',
    items: { type: 'string' },
    maxItems: subAgentLimits.tools,
    description: `Names of its tools, out of: ${choices}.`,
  }
  const schema = {
    type: 'object',
    properties: {
      ...newTexts,
      tools,
      workflow_type: { enum: [...workflowTypes], description: 'plan_execute: it makes a plan first. Default: react.' },
    },
    required: ['name', 'description', 'objective', 'tools'],
    additionalProperties: false,
  }
  createSchemas.set(config, { choices, schema })
  return schema
}

function endTool(parent: ParentRun, list: SubAgent[], onChange: () => void): Tool {
  return {
    ...traits,
    name: 'end_sub_agent',
    description: 'Ends a sub-agent that you created, with all that it does.',
    schema: { type: 'object', properties: { name: newTexts.name }, required: ['name'], additionalProperties: false },
    check: (input) => (typeof (input as JsonObject)['name'] === 'string' ? undefined : 'name must be a text'),
    async execute({ name }) {
      const at = list.findIndex((entry) => entry.madeBy === 'agent' && (entry.name === name || fitName(`sub_agent:${entry.name}`) === name))
      const subAgent = list[at]
      if (!subAgent) throw new Error(`You have created no sub-agent ${String(name)}.`)
      await reportFaults(parent, () => parent.subAgents.terminate(parent.caller, subAgent.id))
      list.splice(list.indexOf(subAgent), 1)
      onChange()
      return 'Ended.'
    },
  }
}

/** Passes a `ServiceError` on to the model, which can react to it; hides other errors. */
async function reportFaults<T>({ onFault }: ParentRun, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ServiceError) throw error
    onFault(error)
    throw new Error('It could not be done.', { cause: error })
  }
}

/** The names of the tools; for many tools the names of their entries with the number of tools. */
function choicesOf(toolsByName: ReadonlyMap<string, Tool>): string {
  if (toolsByName.size <= maxOffered) return [...toolsByName.keys()].join(', ')
  return `${groupsOf([...toolsByName.values()])}. A name before a number stands for all of them; find_tools finds the names of single ones`
}

function toNew(input: JsonObject, toolsByName: ReadonlyMap<string, Tool>, config: AgentConfig): NewSubAgent {
  const { name, description, objective, tools, workflow_type: workflowType = 'react' } = input
  const chosen = (tools as string[]).map((requestedName) => {
    const name = findTool(toolsByName, requestedName)?.name ?? (isEntry(requestedName, config) ? requestedName : undefined)
    if (name === undefined)
      throw new ServiceError('validation', `There is no tool ${requestedName}. The tools are: ${choicesOf(toolsByName)}.`)
    return name
  })
  const texts = { name: String(name).trim(), description: String(description), objective: String(objective) }
  return { ...texts, tools: chosen, workflowType: workflowType as WorkflowType }
}

const namePattern = new RegExp(subAgentLimits.namePattern, 'u')

function checkNew(input: unknown): string | undefined {
  const { name, description, objective, tools, workflow_type: workflowType, ...rest } = input as Record<string, unknown>
  const [unknownKey] = Object.keys(rest)
  if (unknownKey !== undefined) return `${unknownKey} is not a parameter`
  for (const [key, value] of Object.entries({ name, description, objective })) {
    const limit = subAgentLimits[key as 'name']
    if (typeof value !== 'string') return `${key} must be a text`
    if (value.length > limit) return `${key} must have ${limit} characters at most`
  }
  if (!namePattern.test(String(name).trim())) return 'name must be one line of text'
  if (!Array.isArray(tools) || tools.length > subAgentLimits.tools || !tools.every((tool) => typeof tool === 'string'))
    return 'tools must be a list of names'
  const isKnown = workflowType === undefined || workflowTypes.includes(workflowType as WorkflowType)
  return isKnown ? undefined : `workflow_type must be one of ${workflowTypes.join(', ')}`
}
