/**
 * Maximum nesting of accepted JSON. Code that stores or compares JSON recurses once per level, and a stack overflow
 * would end the run.
 */
export const maxJsonDepth = 500

/** True when `value` is nested more than `levels` deep. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1))
}
