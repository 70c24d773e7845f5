import type { DataFilter, ToolSet } from '../agent/tool.ts'
import { invalid, ServiceError, type Fault } from '../errors.ts'

/** Refuses hints that could not be enforced: on an unknown tool, on one without filters, on one that is not ready; `at` is where they stand. */
export function checkHints(filters: readonly DataFilter[], tools: ToolSet, at: Fault['loc'] = ['body']): void {
  if (filters.length === 0) return
  const listings = tools.list()
  for (const [n, filter] of filters.entries()) {
    const loc = [...at, 'data_filter_hints', n, 'tool_name']
    const listing = listings.find((one) => one.name === filter.tool)
    if (!listing) throw invalid(loc, `there is no tool ${filter.tool}`)
    // Which files are behind it is known only when it is ready; until then they could be read around it.
    if (!listing.tool) throw new ServiceError('tool_not_ready', `The tool ${filter.tool} is not ready: ${listing.reason ?? listing.status}`)
    if (!listing.tool.filters) throw invalid(loc, `the tool ${filter.tool} does not support data filters`)
  }
}
