import { fitName, ownToolNames } from '../../agent/tool-names.ts'
import type { DataFilter, ToolListing, ToolSet } from '../../agent/tool.ts'
import { invalid, ServiceError, type Fault } from '../../errors.ts'
import type { Owner } from '../../access/owner.ts'
import type { CallerSchemas, ClientTools } from '../execution/ports.ts'
import type { NewChat } from '../new-chat.ts'

/**
 * Limits of data filter hints. Every document or row of the tool is compared with the hint, and every model call contains the hint, so hints
 * are short. A list of 400 UUIDs fits into one value.
 */
export const hintLimits = {
  hints: 100,
  nameCharacters: 256,
  keyCharacters: 256,
  valueCharacters: 16_384,
  /** Comma-separated values of all `in` hints of a request together. */
  listedValues: 1000,
} as const

/**
 * Refuses hints that are too large or cannot be enforced, because the tool is unknown, has no filters or is not ready. `at` is the position of
 * the hints in the request. Hints of stored runs are checked too: an earlier version may have accepted larger hints.
 */
export function checkHints(filters: readonly DataFilter[], tools: ToolSet, at: Fault['loc'] = ['body']): void {
  if (filters.length === 0) return
  refuseLarge(filters, [...at, 'data_filter_hints'])
  const listings = tools.list()
  for (const [n, filter] of filters.entries()) {
    const loc = [...at, 'data_filter_hints', n, 'tool_name']
    const listing = listings.find(({ name }) => name === filter.tool)
    if (!listing) throw whenUnknown(filter.tool, listings, invalid(loc, `there is no tool ${filter.tool}`))
    // The files of a tool are known only when the tool is ready. Until then other tools could read the files.
    if (!listing.tool) throw notReady(filter.tool, listing)
    if (!listing.tool.filters) throw invalid(loc, `the tool ${filter.tool} does not support data filters`)
  }
}

function refuseLarge(filters: readonly DataFilter[], at: Fault['loc']): void {
  if (filters.length > hintLimits.hints) throw invalid(at, `must NOT have more than ${hintLimits.hints} items`, 'maxItems')
  let listed = 0
  for (const [n, { key, type, value }] of filters.entries()) {
    refuseLonger(key, hintLimits.keyCharacters, [...at, n, 'filter_key'])
    refuseLonger(value, hintLimits.valueCharacters, [...at, n, 'filter_value'])
    if (type === 'in') listed += value.split(',').length
    if (listed <= hintLimits.listedValues) continue
    const limit = `the hints of type \`in\` list more than ${hintLimits.listedValues} values together`
    throw invalid([...at, n, 'filter_value'], limit)
  }
}

function refuseLonger(text: string, limit: number, at: Fault['loc']): void {
  if (text.length > limit) throw invalid(at, `must NOT have more than ${limit} characters`, 'maxLength')
}

/** An entry whose server was never reached has no tool list yet. The tool may exist, so answer `tool_not_ready`, not `not_found`. */
export function whenUnknown(tool: string, listings: readonly ToolListing[], otherwise: ServiceError): ServiceError {
  const owner = listings.find((listing) => isOwner(listing, tool))
  return owner ? notReady(tool, owner) : otherwise
}

/** True where a tool of the name (configured or fitted for models) is not ready, or may belong to an entry that is not ready. */
export function isDown(tool: string, listings: readonly ToolListing[]): boolean {
  return listings.some(
    (listing) => isOwner(listing, tool) || (listing.status !== 'ready' && [listing.name, fitName(listing.name)].includes(tool)),
  )
}

function isOwner({ name, status }: ToolListing, tool: string): boolean {
  return status !== 'ready' && tool.startsWith(`${name}__`)
}

export function notReady(tool: string, { status, reason }: ToolListing): ServiceError {
  return new ServiceError('tool_not_ready', `The tool ${tool} is not ready: ${reason ?? status}`)
}

/** Characters of all tools as JSON: every model call sends them, and each schema is compiled. */
const maxCharacters = 262_144

interface SchemaScope {
  /** The agent's tools. */
  own: ToolSet
  clientTools: Pick<ClientTools, 'faultOf'>
  schemas: Pick<CallerSchemas, 'faultOf'>
  caller: Owner
}

/** Refuses schemas that cannot be used, with the path to the faulty part, and client tools that cannot be offered. */
export async function checkSchemas(chat: NewChat, scope: SchemaScope): Promise<void> {
  const { request, at, schemaLoc = [...at, 'response_schema'] } = chat
  const { schemas, caller } = scope
  const fault = request.responseSchema && (await schemas.faultOf('answer', request.responseSchema, caller))
  if (fault) throw invalid([...schemaLoc, ...fault.path], fault.msg, 'json_schema')
  if (request.clientTools) await checkClientTools(chat, scope)
}

/**
 * Refuses client tools with names of the agent's own tools, with equal names, or with schemas that cannot be used. A name of the agent's is
 * taken in both of its forms: as configured, and as models see the name.
 */
async function checkClientTools({ request, at, toolLoc }: NewChat, { own, clientTools: { faultOf }, caller }: SchemaScope): Promise<void> {
  const { clientTools: tools = [] } = request
  const ownNames = new Set([...ownToolNames, ...own.list().flatMap(({ name, entry }) => [name, fitName(name), entry ?? name])])
  const names = new Set<string>()
  let characters = 0
  const locOf = toolLoc ?? ((index: number, field: string): Fault['loc'] => [...at, 'client_tools', index, field])
  for (const [index, tool] of tools.entries()) {
    if (ownNames.has(tool.name)) throw invalid(locOf(index, 'name'), `the agent has a tool ${tool.name} of its own`)
    if (names.has(tool.name)) throw invalid(locOf(index, 'name'), `another tool has the name ${tool.name}`)
    names.add(tool.name)
    characters += JSON.stringify(tool).length
    if (characters > maxCharacters)
      throw invalid(locOf(index, 'schema'), `the tools must have at most ${maxCharacters} characters together`)
    const fault = await faultOf(tool, caller)
    if (fault !== undefined) throw invalid(locOf(index, 'schema'), fault)
  }
}
