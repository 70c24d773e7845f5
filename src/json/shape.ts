/** Whether a value of JSON is an object: neither `null` nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The fields of a value that may be anything: none when the value is not an object. */
export function fieldsOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {}
}

/** The value of a JSON text; undefined for other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Maximum nesting of accepted JSON. Code that stores or compares JSON recurses once per level, and a stack overflow
 * would end the run.
 */
export const maxJsonDepth = 500

/** True when `value` is nested more than `levels` deep. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  for (const inner of Array.isArray(value) ? value : Object.values(value)) if (isDeeper(inner, levels - 1)) return true
  return false
}

/** Characters of all texts in a JSON value, the names of members included. */
export function charactersIn(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return value.reduce<number>((sum, inner) => sum + charactersIn(inner), 0)
  return Object.entries(value).reduce((sum, [name, inner]) => sum + name.length + charactersIn(inner), 0)
}
