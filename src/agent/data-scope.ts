import type { DataFilter, DataScope, Tool } from './tool.ts'

/** What a tool may see: its own filters bind it, and the files behind another hinted tool can be read through that tool alone. */
export function scopeOf(tool: Tool, tools: readonly Tool[], filters: readonly DataFilter[]): DataScope {
  const hinted = tools.filter((one) => one.name !== tool.name && filters.some((filter) => filter.tool === one.name))
  // Which files are behind a hinted tool that is not there nobody knows: then none may be read.
  const isUnknown = filters.some((filter) => !tools.some((one) => one.name === filter.tool))
  return {
    filters: filters.filter((filter) => filter.tool === tool.name),
    isWithheld: (path) => isUnknown || hinted.some((one) => one.readsFile?.(path) ?? false),
    restriction: nameFilters(filters),
  }
}

/** Each tool is described and called with the filters of its run, so the name of a run's filters is made once. */
const names = new WeakMap<readonly DataFilter[], string>()

/** The same for the same hints in another order. */
function nameFilters(filters: readonly DataFilter[]): string {
  if (filters.length === 0) return ''
  let name = names.get(filters)
  if (name === undefined) names.set(filters, (name = toName(filters)))
  return name
}

function toName(filters: readonly DataFilter[]): string {
  return [...new Set(filters.map(({ tool, key, type, value }) => JSON.stringify([tool, key, type, value])))].sort().join()
}
