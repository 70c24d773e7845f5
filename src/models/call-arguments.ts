import type { JsonObject } from '../agent/messages.ts'

/** The arguments that a model wrote for a call; undefined unless they are a JSON object. */
export function parseArguments(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}
