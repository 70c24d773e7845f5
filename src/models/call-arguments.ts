import { isDeeper, maxJsonDepth } from '../agent/json-depth.ts'
import type { JsonObject } from '../agent/messages.ts'

/** The arguments that a model wrote for a call; undefined unless they are a JSON object that can be sent again. */
export function parseArguments(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject && !isDeeper(value, maxJsonDepth) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}
