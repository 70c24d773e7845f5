import type { DataFilter, DataScope, Tool } from './tool.ts'

/**
 * The data visible to a tool. Filters on the tool itself apply; the files behind another filtered tool can be read only
 * through the filtered tool.
 */
export function scopeOf(tool: Tool, tools: readonly Tool[], filters: readonly DataFilter[]): DataScope {
  const hinted = tools.filter((candidate) => candidate.name !== tool.name && filters.some((filter) => filter.tool === candidate.name))
  // A filtered tool that is not offered may read any file, so every file is withheld.
  const isUnknown = filters.some((filter) => !tools.some((candidate) => candidate.name === filter.tool))
  return {
    filters: filters.filter((filter) => filter.tool === tool.name),
    isWithheld: (path) => isUnknown || hinted.some((candidate) => candidate.readsFile?.(path) ?? false),
    restriction: nameFilters(filters),
  }
}

/** The name of a run's filters, computed once: every description and call of a tool asks for it. */
const names = new WeakMap<readonly DataFilter[], string>()

/** A canonical text: equal for the same filters in another order. */
function nameFilters(filters: readonly DataFilter[]): string {
  if (filters.length === 0) return ''
  let name = names.get(filters)
  if (name === undefined) names.set(filters, (name = toName(filters)))
  return name
}

function toName(filters: readonly DataFilter[]): string {
  return [...new Set(filters.map(({ tool, key, type, value }) => JSON.stringify([tool, key, type, value])))].sort().join()
}
