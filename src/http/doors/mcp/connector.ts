import { randomUUIDv7 } from 'node:crypto'
import type { CallToolResult, Tool as McpTool } from '@modelcontextprotocol/server'
import type { JsonObject } from '../../../agent/messages.ts'
import { cut } from '../../../agent/run-tool.ts'
import type { Tool, ToolSet } from '../../../agent/tool.ts'
import { invalid, ServiceError } from '../../../errors.ts'
import { fieldsOf } from '../../../json/shape.ts'
import { hashOf } from '../core/open-chat.ts'
import { contextOf } from '../protocols.ts'
import type { McpCall } from './call.ts'
import { toResult } from './results.ts'
import { toolsOf, type ToolServices } from './tools.ts'

/**
 * The tools `search` and `fetch`, by which connectors of ChatGPT find and read documents. Names, arguments and results are those of OpenAI's
 * documentation: a result is JSON, as a single text and as structured content.
 */

const searchTool: McpTool = {
  name: 'search',
  title: 'Search documents',
  description: 'Searches the documents of the agent. Returns the best documents, each with an id for fetch.',
  inputSchema: inputOf('query', 'Words that the documents should contain.'),
  outputSchema: {
    type: 'object',
    properties: { results: { type: 'array', items: fieldsSchema(['id', 'title', 'url']) } },
    required: ['results'],
  },
  annotations: { readOnlyHint: true },
}

const fetchTool: McpTool = {
  name: 'fetch',
  title: 'Read a document',
  description: 'Returns the text of a document that search has found.',
  inputSchema: inputOf('id', 'The id of a result of search.'),
  outputSchema: fieldsSchema(['id', 'title', 'text', 'url'], { metadata: { type: 'object' } }),
  annotations: { readOnlyHint: true },
}

const connectorTools: ReadonlyMap<string, McpTool> = new Map([
  [searchTool.name, searchTool],
  [fetchTool.name, fetchTool],
])

/** Passages that a search asks for: several may be of one document. */
const passages = 20
/** Longest id: longer than the path of any file. */
const maxIdCharacters = 5_000
const maxTitleCharacters = 300
const maxUrlCharacters = 2_000
/** Longest text of a document; the rest is cut. */
const maxTextCharacters = 1_000_000

/** The tools for connectors; none where the agent has no search of documents, or an own tool of one of the names. */
export function connectorToolsOf(toolSet: ToolSet): ReadonlyMap<string, McpTool> {
  const tools = toolsOf(toolSet)
  const isOffered = searchesOf(toolSet).length > 0 && ![...connectorTools.keys()].some((name) => tools.has(name))
  return isOffered ? connectorTools : new Map()
}

/** Calls `search` or `fetch`, and counts the call as one of a tool. */
export function callConnectorTool(services: ToolServices, call: McpCall, name: string, input: JsonObject): Promise<CallToolResult> {
  const run = name === searchTool.name ? search : fetchDocument
  return services.tools.measure(
    name,
    () => run(services, call, input),
    ({ isError }) => isError === true,
  )
}

/** Searches of documents that run without an approval. */
function searchesOf(toolSet: ToolSet): Tool[] {
  return toolSet.list().flatMap(({ tool }) => (tool?.readDocument && !tool.approval ? [tool] : []))
}

/** Asks every search of the agent. A document is a result once, at the place of its best passage. */
async function search({ tools, agent }: ToolServices, call: McpCall, input: JsonObject): Promise<CallToolResult> {
  const query = textOf(input, 'query')
  const { principal, request } = call.caller
  const searches = searchesOf(agent().tools).map((tool) => {
    const searchInput = { query, limit: passages }
    const execution = {
      requestId: randomUUIDv7(),
      isRepeatable: false,
      sessionId: undefined,
      newSessionId: randomUUIDv7(),
      bodyHash: hashOf({ toolName: tool.name, input: searchInput, filters: [] }, argumentsLoc),
      toolName: tool.name,
      input: searchInput,
      filters: [],
      headers: contextOf(request, call.context.mcpReq._meta),
      onLog: (text: string) => void call.report.text(text),
    }
    return tools.execute(principal, execution, call.disconnected)
  })
  const executed = await Promise.all(searches)
  const failed = executed.find(({ result }) => result.status === 'error')
  if (failed) return toResult(failed)
  const found = executed.flatMap(({ result }) => toFound(result.output)).sort((a, b) => b.score - a.score)
  const results = new Map<string, JsonObject>()
  for (const { id, title, url } of found) if (!results.has(id)) results.set(id, { id, title, url })
  return toJsonResult({ results: [...results.values()] })
}

/** Reads a document by its id, from the first search that finds the document. */
async function fetchDocument({ agent }: ToolServices, { caller }: McpCall, input: JsonObject): Promise<CallToolResult> {
  const id = textOf(input, 'id')
  if (id.length > maxIdCharacters) throw invalid([...argumentsLoc, 'id'], `must have at most ${maxIdCharacters} characters`)
  const { tenant, owner } = caller.principal
  for (const tool of searchesOf(agent().tools)) {
    const document = await tool.readDocument?.(id, { tenant, owner })
    if (!document) continue
    const { name, metadata } = document
    const isFile = name === id
    const text = cut(document.text, maxTextCharacters)
    return toJsonResult({ id, title: titleOf(name, metadata), text, url: urlOf(id, isFile, metadata), metadata })
  }
  throw new ServiceError('not_found', `There is no document ${id.slice(0, 200)}.`)
}

interface Found {
  id: string
  title: string
  url: string
  score: number
}

function toFound(output: unknown): Found[] {
  const { passages: found } = fieldsOf(output)
  if (!Array.isArray(found)) return []
  return found.flatMap((passage): Found[] => {
    const { file, document_id: documentId, score, metadata } = fieldsOf(passage)
    if (typeof file !== 'string') return []
    const isFile = typeof documentId !== 'string'
    const id = isFile ? file : documentId
    return [{ id, title: titleOf(file, metadata), url: urlOf(id, isFile, metadata), score: Number(score) }]
  })
}

function titleOf(name: string, metadata: unknown): string {
  const { title } = fieldsOf(metadata)
  return (typeof title === 'string' && title.trim() !== '' ? title : name).slice(0, maxTitleCharacters).toWellFormed()
}

/** The `url` of the front matter, or else the URI of the document here. */
function urlOf(id: string, isFile: boolean, metadata: unknown): string {
  const { url } = fieldsOf(metadata)
  if (typeof url === 'string' && url.length <= maxUrlCharacters && /^https?:\/\//i.test(url) && URL.canParse(url)) return url
  return `agent-core://${isFile ? 'files' : 'knowledge'}/${id.split('/').map(encodeURIComponent).join('/')}`
}

function toJsonResult(value: JsonObject): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: value }
}

const argumentsLoc = ['body', 'params', 'arguments']

/** The only argument of a call, a text. */
function textOf(input: JsonObject, name: 'query' | 'id'): string {
  const [unknown] = Object.keys(input).filter((key) => key !== name)
  if (unknown !== undefined) throw invalid([...argumentsLoc, unknown.slice(0, 100)], 'is not known')
  const value = input[name]
  if (typeof value !== 'string' || value === '') throw invalid([...argumentsLoc, name], 'must be a string that is not empty')
  return value
}

function inputOf(name: 'query' | 'id', description: string): McpTool['inputSchema'] {
  return {
    type: 'object',
    properties: { [name]: { type: 'string', minLength: 1, description } },
    required: [name],
    additionalProperties: false,
  }
}

function fieldsSchema(names: readonly string[], more: Record<string, JsonObject> = {}) {
  const properties: Record<string, JsonObject> = { ...Object.fromEntries(names.map((name) => [name, { type: 'string' }])), ...more }
  return { type: 'object' as const, properties, required: [...names] }
}
