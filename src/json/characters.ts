/** Characters of all texts in a JSON value, the names of members included. */
export function charactersIn(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.entries(value).reduce((sum, [name, inner]) => sum + (Array.isArray(value) ? 0 : name.length) + charactersIn(inner), 0)
}
