import { isQuestion } from './inbox.ts'
import type { JsonObject, JsonValue, Message } from './messages.ts'
import type { DataFilter, Tool, ToolFinder, ToolSearch } from './tool.ts'
import { scopeOf, type LoopOptions } from './options.ts'
import { ownMarks } from './taint.ts'
import { findTool, nameTools } from './tool-names.ts'
import { fieldsOf } from '../json/shape.ts'

/**
 * An agent with more tools offers only the best fitting ones to the model; the model finds the others with
 * `find_tools`.
 */
export const maxOffered = 40

export const findToolsName = 'find_tools'

/** Tools offered at the start of a run: the best hits for the question, and tools used earlier in the conversation. */
const initialTools = 15
const maxEarlierTools = 5
/** Tools added for each step of a plan. */
const toolsPerStep = 5
/** Maximum of found tools offered in a run. Beyond this limit, the oldest found tools without a call are dropped. */
const maxFound = 40

const limits = { byDefault: 8, max: 20 }

interface ToolOfferOptions {
  /** The current tools of the loop. */
  tools(): readonly Tool[]
  /** The tools to choose from; all other tools are always offered. */
  findable: readonly Tool[]
  /** All tools of the run, when more than those of the loop. */
  allTools?: readonly Tool[]
  filters: readonly DataFilter[]
  /** The question or task of the agent. */
  question: string
  /** Selects what is offered without being asked for: at once, and the same in every process. */
  search: ToolSearch
  /** Answers `find_tools`; default: `search`. */
  find?: ToolFinder | undefined
}

/** The tools of a loop and the offer to its model: all tools, or for many tools a selection and `find_tools`. */
export function offerTools(all: ToolOfferOptions): Pick<LoopOptions, 'tools' | 'offered'> {
  // The provider offers its tools itself: the model must know them from the start. Tools of skills are always offered.
  const options = { ...all, findable: all.findable.filter(({ provider, isAlwaysAllowed }) => !provider && !isAlwaysAllowed) }
  if (options.findable.length <= maxOffered) return { tools: options.tools }
  const find = createFindTools(options)
  return { tools: () => [find, ...options.tools()], offered: createOffer(options) }
}

/**
 * Selects the offered tools from the transcript alone, so that a process that resumes the run offers the same. New
 * tools are appended at the end, which keeps the provider's prompt cache valid.
 */
function createOffer({ findable, filters, question, search }: ToolOfferOptions): NonNullable<LoopOptions['offered']> {
  const isFindable = new Set(findable)
  const best = memoize((query: string) => search(shortened(query), findable, { limit: initialTools, filters }))
  return (all, messages) => {
    const toolsByName = nameTools(all)
    const start = messages.findLastIndex(isQuestion)
    const isTaken = (tool: Tool | undefined): tool is Tool => tool !== undefined && isFindable.has(tool)
    const namedIn = (part: readonly Message[]) => part.flatMap(namesIn).map((name) => findTool(toolsByName, name))
    const before = [...new Set(namedIn(messages.slice(0, start).filter(isCall)).filter(isTaken).toReversed())].slice(0, maxEarlierTools)
    const first = new Set([...before, ...best(question), ...findable.filter(isAlone), ...findable])
    const atFirst = [...first].slice(0, initialTools)
    const since = messages
      .slice(start + 1)
      .flatMap((message) => (isStep(message) ? best(message.text).slice(0, toolsPerStep) : namedIn([message])))
    const called = new Set(namedIn(messages.slice(start + 1).filter(isCall)))
    const foundTools = [...new Set(since.filter(isTaken))].filter((tool) => !atFirst.includes(tool))
    const offeredFound = foundTools.filter((tool, at) => called.has(tool) || at >= foundTools.length - maxFound)
    return [...all.filter((tool) => !isFindable.has(tool)), ...atFirst, ...offeredFound]
  }
}

/** True for an entry that is a single tool: the configuration names exactly this tool. */
function isAlone({ name }: Tool): boolean {
  return !name.includes('__')
}

function isCall(message: Message): boolean {
  return message.role === 'assistant'
}

function isStep(message: Message): message is Message & { role: 'user' } {
  return message.role === 'user' && message.instruction === 'step'
}

/** Names of the tools that a message calls, or that a `find_tools` call in the message returned. */
function namesIn(message: Message): string[] {
  if (message.role === 'assistant') return message.toolCalls.map(({ name }) => name)
  if (message.role !== 'tool' || message.name !== findToolsName || message.isError) return []
  try {
    const { tools } = JSON.parse(message.text) as { tools: { name: string }[] }
    return tools.map(({ name }) => name)
  } catch {
    // The output was cut off, or belongs to an earlier tool of the same name.
    return []
  }
}

/** The tool `find_tools`, which finds tools not on offer. */
function createFindTools(options: ToolOfferOptions): Tool {
  const { findable, filters, search, find = async (...request) => search(...request), allTools = findable } = options
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
        limit: { type: 'integer', minimum: 1, maximum: limits.max, description: `How many to find; default ${limits.byDefault}.` },
      },
      required: ['query'],
      additionalProperties: false,
    },
    effect: 'read',
    marks: ownMarks,
    isAlwaysAllowed: true,
    filters: false,
    timeoutMs: 10_000,
    maxOutputCharacters: 40_000,
    check: checkQuery,
    async execute({ query, limit = limits.byDefault }, { log, signal, meter }): Promise<JsonValue> {
      const hits = await find(shortened(String(query)), findable, { limit: Number(limit), filters, signal, meter })
      const names = new Map([...nameTools([...options.tools()])].map(([name, tool]) => [tool, name]))
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
  const { query, limit, ...rest } = input as JsonObject
  const [unknownKey] = Object.keys(rest)
  if (unknownKey !== undefined) return `${unknownKey} is not a parameter`
  if (typeof query !== 'string' || query.trim() === '') return 'query must be a text'
  const isCount = limit === undefined || (Number.isInteger(limit) && Number(limit) >= 1 && Number(limit) <= limits.max)
  return isCount ? undefined : `limit must be a whole number from 1 to ${limits.max}`
}

const maxDescription = 400
const maxParameters = 20
const maxParameterName = 60

/** Enough to choose a tool by; the schema follows when the tool is offered. */
function summary(name: string, description: string, { schema }: Tool): JsonObject {
  const properties = fieldsOf(schema['properties'])
  const required = Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : []
  const names = Object.keys(properties).slice(0, maxParameters)
  const parameters = names.map((key) => `${shorten(key, maxParameterName)}${required.includes(key) ? ' (required)' : ''}`)
  return { name, description: shorten(description, maxDescription), parameters }
}

function shorten(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).toWellFormed()}…`
}

const maxGroups = 30

/** Entries with the number of tools in each. */
export function groupsOf(tools: readonly Pick<Tool, 'name'>[]): string {
  const groups = [...Map.groupBy(tools, ({ name }) => name.split('__', 1)[0]!)]
  const labels = groups
    .slice(0, maxGroups)
    .map(([group, members]) => (members.length === 1 ? members[0]!.name : `${group} (${members.length})`))
  return [...labels, ...(groups.length > maxGroups ? ['others'] : [])].join(', ')
}

/** Keeps the beginning and the end of a long text, where the request usually is. */
function shortened(query: string): string {
  return query.length <= maxQuery ? query : `${query.slice(0, maxQuery / 2)} ${query.slice(-maxQuery / 2)}`
}

const maxQuery = 2000

function memoize<T>(find: (key: string) => T): (key: string) => T {
  const cachedValues = new Map<string, T>()
  return (key) => {
    const value = cachedValues.get(key) ?? find(key)
    cachedValues.set(key, value)
    return value
  }
}
