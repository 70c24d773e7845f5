import type { DataFilter } from '../agent/tool.ts'

export type Fields = Readonly<Record<string, string | number | boolean>>

/**
 * Whether fields pass all filters. What can't be compared (a key that is not there, a value that is none of the field's type)
 * lets nothing through, `not_equals` included.
 */
export function matchesFilters(fields: Fields, filters: readonly DataFilter[]): boolean {
  return filters.every((filter) => {
    const field = Object.hasOwn(fields, filter.key) ? fields[filter.key] : undefined
    return field !== undefined && matches(field, filter)
  })
}

function matches(field: string | number | boolean, { type, value }: DataFilter): boolean {
  switch (type) {
    case 'equals':
      return isEqual(field, value) === true
    case 'not_equals':
      return isEqual(field, value) === false
    case 'in':
      return value.split(',').some((part) => isEqual(field, part.trim()) === true)
    case 'contains':
      return String(field).includes(value)
    default:
      // Whoever adds a type of filter must not open what the filter was to close.
      return false
  }
}

/** Compared in the field's own type; undefined when the value is none of that type. */
function isEqual(field: string | number | boolean, value: string): boolean | undefined {
  const own = comparable(field)
  const other = typeof own === 'string' ? value : convert(value.trim(), typeof field, own)
  return other === undefined ? undefined : own === other
}

/** A date is a string in front matter; as milliseconds `2026-01-01` and `2026-01-01T00:00:00Z` are the same. */
function comparable(field: string | number | boolean): string | number | boolean {
  return typeof field === 'string' ? (toMilliseconds(field) ?? field) : field
}

function convert(value: string, type: string, own: number | boolean): number | boolean | undefined {
  if (typeof own === 'boolean') return /^true$/i.test(value) ? true : /^false$/i.test(value) ? false : undefined
  if (type === 'string') return toMilliseconds(value)
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(value) ? Number(value) : undefined
}

function toMilliseconds(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[-+]\d{2}:\d{2})?)?$/.test(text)) return undefined
  // Without an offset UTC is meant: the machine's own zone would make a filter depend on where it runs.
  const iso = text.replace(' ', 'T')
  const at = Date.parse(/T.*(Z|[-+]\d{2}:\d{2})$/.test(iso) || !iso.includes('T') ? iso : `${iso}Z`)
  return Number.isNaN(at) ? undefined : at
}
