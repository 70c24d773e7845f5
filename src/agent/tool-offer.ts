import type { JsonObject, JsonValue, Message } from './messages.ts'
import type { DataFilter, Tool, ToolSearch } from './tool.ts'
import { scopeOf } from './data-scope.ts'
import { findTool, nameTools } from './tool-names.ts'
import type { LoopOptions } from './turns.ts'
import { fieldsOf } from '../json/is-object.ts'

/** An agent with more tools than this is told of the most fitting ones, and finds the others. */
export const maxTold = 40

export const findToolsName = 'find_tools'

/** Told of from the beginning of a run: what its question asks for, and what was used in the conversation before. */
const toldAtFirst = 15
const toldFromBefore = 5
/** Told of besides when a step of a plan is to be done. */
const toldForStep = 5
/** Found in one run; of more, those that were found first and never called are told of no longer. */
const maxFound = 40

const limits = { byDefault: 8, most: 20 }

interface Many {
  /** All tools of the loop, as they are now. */
  tools(): readonly Tool[]
  /** Those of them that are too many; the others are always told of. */
  findable: readonly Tool[]
  /** All tools of the run, where that is more. */
  allTools?: readonly Tool[]
  filters: readonly DataFilter[]
  /** What the agent was asked. */
  question: string
  search: ToolSearch
}

/** The tools of a loop and which of them its model is told of: all, or, of many, some and one that finds the others. */
export function offerTools(many: Many): Pick<LoopOptions, 'tools' | 'offered'> {
  if (many.findable.length <= maxTold) return { tools: () => many.tools() }
  const find = createFindTools(many)
  return { tools: () => [find, ...many.tools()], offered: createOffer(many) }
}

/**
 * Which tools are told of, from the transcript alone: whoever goes on with a run tells of the same. What comes to them stands at the end,
 * so that what a provider has kept of the request stays true.
 */
function createOffer({ findable, filters, question, search }: Many): NonNullable<LoopOptions['offered']> {
  const isFindable = new Set(findable)
  const best = keeping((query: string) => search(shortened(query), findable, { limit: toldAtFirst, filters }))
  return (all, messages) => {
    const named = nameTools(all)
    const start = messages.findLastIndex((message) => message.role === 'user' && message.instruction === undefined)
    const isTaken = (tool: Tool | undefined): tool is Tool => tool !== undefined && isFindable.has(tool)
    const namedIn = (some: readonly Message[]) => some.flatMap(namesIn).map((name) => findTool(named, name))
    const before = [...new Set(namedIn(messages.slice(0, start).filter(isCall)).filter(isTaken).toReversed())].slice(0, toldFromBefore)
    const first = new Set([...before, ...best(question), ...findable.filter(isAlone), ...findable])
    const atFirst = [...first].slice(0, toldAtFirst)
    const since = messages
      .slice(start + 1)
      .flatMap((message) => (isStep(message) ? best(message.text).slice(0, toldForStep) : namedIn([message])))
    const called = new Set(namedIn(messages.slice(start + 1).filter(isCall)))
    const found = [...new Set(since.filter(isTaken))].filter((tool) => !atFirst.includes(tool))
    const kept = found.filter((tool, at) => called.has(tool) || at >= found.length - maxFound)
    return [...all.filter((tool) => !isFindable.has(tool)), ...atFirst, ...kept]
  }
}

/** Of an entry that stands for one tool: somebody has named just it. */
function isAlone({ name }: Tool): boolean {
  return !name.includes('__')
}

function isCall(message: Message): boolean {
  return message.role === 'assistant'
}

function isStep(message: Message): message is Message & { role: 'user' } {
  return message.role === 'user' && message.instruction === 'step'
}

/** Names of the tools that a message calls, or that `find_tools` has found. */
function namesIn(message: Message): string[] {
  if (message.role === 'assistant') return message.toolCalls.map(({ name }) => name)
  if (message.role !== 'tool' || message.name !== findToolsName || message.isError) return []
  try {
    const { tools } = JSON.parse(message.text) as { tools: { name: string }[] }
    return tools.map(({ name }) => name)
  } catch {
    // Cut off, or of a tool that had the name before.
    return []
  }
}

/** The tool with which a model finds those that it is not told of. */
function createFindTools(many: Many): Tool {
  const { findable, filters, search, allTools = findable } = many
  const describe = (tool: Tool) =>
    filters.length > 0 && tool.describe ? tool.describe(scopeOf(tool, allTools, filters)) : tool.description
  return {
    name: findToolsName,
    description:
      `Finds tools by what they do. There are ${findable.length}, of which you are shown a few; what it finds you can call from your next ` +
      `turn on. Look here before you say that something can't be done. There are tools of: ${groupsOf(findable)}.`,
    schema: {
      type: 'object',
      properties: {
        query: { type: 'string', minLength: 1, description: 'What the tool is to do, in a few words.' },
        limit: { type: 'integer', minimum: 1, maximum: limits.most, description: `How many to find; default ${limits.byDefault}.` },
      },
      required: ['query'],
      additionalProperties: false,
    },
    effect: 'read',
    filters: false,
    timeoutMs: 10_000,
    maxOutputCharacters: 40_000,
    check: checkQuery,
    async execute({ query, limit = limits.byDefault }, { log }): Promise<JsonValue> {
      const hits = search(shortened(String(query)), findable, { limit: Number(limit), filters })
      const names = new Map([...nameTools([...many.tools()])].map(([name, tool]) => [tool, name]))
      log(`${hits.length} of ${findable.length} tools fit best.`)
      const tools = hits.map((tool) => summary(names.get(tool) ?? tool.name, describe(tool), tool))
      return {
        tools,
        total: findable.length,
        ...(tools.length === 0 && { hint: `No tool fits. There are tools of: ${groupsOf(findable)}.` }),
      }
    },
  }
}

function checkQuery(input: unknown): string | undefined {
  const { query, limit, ...more } = input as JsonObject
  const [other] = Object.keys(more)
  if (other !== undefined) return `${other} is not a parameter`
  if (typeof query !== 'string' || query.trim() === '') return 'query must be a text'
  const isCount = limit === undefined || (Number.isInteger(limit) && Number(limit) >= 1 && Number(limit) <= limits.most)
  return isCount ? undefined : `limit must be a whole number from 1 to ${limits.most}`
}

const maxDescription = 400
const maxParameters = 20
const maxParameterName = 60

/** Enough to choose by; the schema is told with the tool itself. */
function summary(name: string, description: string, { schema }: Tool): JsonObject {
  const properties = fieldsOf(schema['properties'])
  const required = Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : []
  const names = Object.keys(properties).slice(0, maxParameters)
  const parameters = names.map((key) => `${shorten(key, maxParameterName)}${required.includes(key) ? ' (required)' : ''}`)
  return { name, description: shorten(description, maxDescription), parameters }
}

function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`
}

const maxGroups = 30

/** The entries that stand for several tools, with how many. */
export function groupsOf(tools: readonly Pick<Tool, 'name'>[]): string {
  const groups = [...Map.groupBy(tools, ({ name }) => name.split('__', 1)[0]!)]
  const told = groups
    .slice(0, maxGroups)
    .map(([group, members]) => (members.length === 1 ? members[0]!.name : `${group} (${members.length})`))
  return [...told, ...(groups.length > maxGroups ? ['others'] : [])].join(', ')
}

/** What is asked for stands at the beginning or at the end of a long text. */
function shortened(query: string): string {
  return query.length <= maxQuery ? query : `${query.slice(0, maxQuery / 2)} ${query.slice(-maxQuery / 2)}`
}

const maxQuery = 2000

function keeping<T>(find: (key: string) => T): (key: string) => T {
  const known = new Map<string, T>()
  return (key) => {
    const value = known.get(key) ?? find(key)
    known.set(key, value)
    return value
  }
}
