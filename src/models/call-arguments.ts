import { isDeeper, maxJsonDepth } from '../json/shape.ts'
import type { JsonObject } from '../agent/messages.ts'

/** Parses the arguments of a tool call; undefined unless the text is a JSON object within the depth limit, which can be sent to models again. */
export function parseArguments(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject && !isDeeper(value, maxJsonDepth) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}
