import { fitName } from '../../agent/tool-names.ts'
import type { DataFilter, ToolListing, ToolSet } from '../../agent/tool.ts'
import { invalid, ServiceError, type Fault } from '../../errors.ts'

/**
 * Bounds of hints. A hint is compared with every document or row of its tool, and described to the model at each of its calls, so hints
 * are short: a list of 400 UUIDs fits into one value.
 */
export const hintLimits = {
  hints: 100,
  nameCharacters: 256,
  keyCharacters: 256,
  valueCharacters: 16_384,
  /** Comma-separated values of `in`, of all hints of a request together. */
  listedValues: 1000,
} as const

/**
 * Refuses hints that are too large, and hints that could not be enforced: on an unknown tool, on one without filters, on one that is
 * not ready; `at` is where they stand. A run from the store is checked too: an earlier version may have accepted larger ones.
 */
export function checkHints(filters: readonly DataFilter[], tools: ToolSet, at: Fault['loc'] = ['body']): void {
  if (filters.length === 0) return
  refuseLarge(filters, [...at, 'data_filter_hints'])
  const listings = tools.list()
  for (const [n, filter] of filters.entries()) {
    const loc = [...at, 'data_filter_hints', n, 'tool_name']
    const listing = listings.find((one) => one.name === filter.tool)
    if (!listing) throw whenUnknown(filter.tool, listings, invalid(loc, `there is no tool ${filter.tool}`))
    // Which files are behind it is known only when it is ready; until then they could be read around it.
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

/** Which tools an entry has whose server was never reached nobody knows: it may have this one. */
export function whenUnknown(tool: string, listings: readonly ToolListing[], otherwise: ServiceError): ServiceError {
  const owner = listings.find((listing) => isOwner(listing, tool))
  return owner ? notReady(tool, owner) : otherwise
}

/** Whether a tool is known by this name, to people or to models, and can't be used now; so is all that an entry which is down may have. */
export function isDown(tool: string, listings: readonly ToolListing[]): boolean {
  return listings.some((one) => isOwner(one, tool) || (one.status !== 'ready' && (one.name === tool || fitName(one.name) === tool)))
}

function isOwner({ name, status }: ToolListing, tool: string): boolean {
  return status !== 'ready' && tool.startsWith(`${name}__`)
}

export function notReady(tool: string, { status, reason }: ToolListing): ServiceError {
  return new ServiceError('tool_not_ready', `The tool ${tool} is not ready: ${reason ?? status}`)
}
