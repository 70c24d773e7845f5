import { fitName } from '../agent/tool-names.ts'
import type { DataFilter, ToolListing, ToolSet } from '../agent/tool.ts'
import { invalid, ServiceError, type Fault } from '../errors.ts'

/** Refuses hints that could not be enforced: on an unknown tool, on one without filters, on one that is not ready; `at` is where they stand. */
export function checkHints(filters: readonly DataFilter[], tools: ToolSet, at: Fault['loc'] = ['body']): void {
  if (filters.length === 0) return
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
