import type { JsonValue } from '../../agent/messages.ts'
import type { Part } from './span.ts'

/** Characters of all long attributes of a trace, and the least and the most of one of them. */
const maxTotal = 1_000_000
const [leastCharacters, mostCharacters] = [80, 4000]

/** Attributes whose values come from models, tools and callers, and may be long. */
const longAttributes = ['tool_input', 'output', 'log', 'reasoning', 'new_input', 'error']

/** Characters that each long attribute of a trace with this number of parts may have. */
export function limitFor(parts: number): number {
  return Math.max(leastCharacters, Math.min(mostCharacters, Math.floor(maxTotal / Math.max(1, parts))))
}

/** Cuts long attributes; `truncated` marks the span. A cut value is a text: the beginning of the text, or of the JSON. */
export function bound(part: Part, limit: number): Part {
  let attributes = part.attributes
  for (const name of longAttributes) {
    const value = attributes[name]
    const text = value === undefined ? undefined : textOver(value, limit)
    if (text !== undefined) attributes = { ...attributes, [name]: text.slice(0, limit).toWellFormed(), truncated: true }
  }
  return attributes === part.attributes ? part : { ...part, attributes }
}

/** The value as text where it is longer than the limit. */
function textOver(value: JsonValue, limit: number): string | undefined {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return undefined
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > limit ? text : undefined
}
