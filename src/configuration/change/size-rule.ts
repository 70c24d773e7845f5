import { problemAt, type ConfigProblem } from '../problems.ts'
import type { ConfigData } from './merge.ts'

/** Far beyond what anybody writes; what is larger would be compared and written for minutes, while everybody waits. */
const maxValues = 5000
const maxCharacters = 1_000_000

/** Whether a configuration grew too large by a change; data without cycles. */
export function findTooLarge(data: ConfigData): ConfigProblem[] {
  const left: unknown[] = [data]
  let characters = 0
  for (let values = 0; left.length > 0; values++) {
    if (values + left.length > maxValues) return [problemAt([], `has more than ${maxValues} values`)]
    const value = left.pop()
    if (typeof value === 'string') characters += value.length
    else if (typeof value === 'object' && value !== null) {
      const inner: unknown[] = Array.isArray(value) ? value : Object.values(value)
      if (left.length + inner.length > maxValues) return [problemAt([], `has more than ${maxValues} values`)]
      left.push(...inner)
      if (!Array.isArray(value)) for (const key of Object.keys(value)) characters += key.length
    }
    if (characters > maxCharacters) return [problemAt([], `has more than ${maxCharacters} characters`)]
  }
  return []
}
