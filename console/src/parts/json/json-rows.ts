/** A visible line of a JSON value. */
export interface JsonRow {
  /** Address of the value: `$.a.0`; of a line that shows more, the address of its parent and `+`. */
  path: string
  depth: number
  /** Name of the property or number of the element; undefined for the root. */
  name: string | undefined
  value: unknown
  /** Number of members of an object or list; undefined for other values. */
  size: number | undefined
  isOpen: boolean
  /** Number of further members that this line opens; `path` ends in `+`. */
  more?: number
}

/** Members of an object or list that are shown at first, and in addition each time. */
export const memberStep = 100

/**
 * Lines of a value. Only open objects and lists are visited, so that the size of the value does not matter.
 * `open` contains the addresses of open values, `shown` the number of members where it is not `memberStep`.
 */
export function toJsonRows(value: unknown, open: ReadonlySet<string>, shown: ReadonlyMap<string, number>): JsonRow[] {
  const rows: JsonRow[] = []
  const visit = (current: unknown, name: string | undefined, path: string, depth: number): void => {
    const size = sizeOf(current)
    const isOpen = size !== undefined && open.has(path)
    rows.push({ path, depth, name, value: current, size, isOpen })
    if (!isOpen) return
    const limit = shown.get(path) ?? memberStep
    for (const [member, content] of firstMembers(current as object, limit)) visit(content, member, `${path}.${member}`, depth + 1)
    if (size > limit)
      rows.push({
        path: `${path}+`,
        depth: depth + 1,
        name: undefined,
        value: undefined,
        size: undefined,
        isOpen: false,
        more: size - limit,
      })
  }
  visit(value, undefined, '$', 0)
  return rows
}

function* firstMembers(value: object, limit: number): Generator<[string, unknown]> {
  let count = 0
  for (const name in value) {
    if (count++ >= limit) return
    yield [name, (value as Record<string, unknown>)[name]]
  }
}

function sizeOf(value: unknown): number | undefined {
  if (Array.isArray(value)) return value.length
  return typeof value === 'object' && value !== null ? Object.keys(value).length : undefined
}
