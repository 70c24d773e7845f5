import canonicalize from 'canonicalize'

/**
 * JSON in the one form that RFC 8785 gives a value: equal values have equal texts, whatever the order of members and however a number was
 * written. Half a surrogate pair becomes U+FFFD, as in both databases.
 */
export function canonicalJson(value: unknown): string {
  try {
    return canonicalize(value) ?? 'null'
  } catch {
    return canonicalize(toWellFormed(JSON.parse(JSON.stringify(value)))) ?? 'null'
  }
}

function toWellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(toWellFormed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name.toWellFormed(), toWellFormed(inner)]))
}
