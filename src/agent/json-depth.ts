/** Levels of JSON that is taken. What keeps or compares it goes level by level, and the stack ends after some thousands: with it the run. */
export const maxJsonDepth = 500

/** Whether something is nested more than so many levels deep. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1))
}
