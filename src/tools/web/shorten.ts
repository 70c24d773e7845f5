import type { JsonValue } from '../../agent/messages.ts'

/** Maximum items per list and characters per text, from most to fewest. */
const steps = [
  { items: 200, characters: 8000 },
  { items: 100, characters: 4000 },
  { items: 50, characters: 2000 },
  { items: 20, characters: 1000 },
  { items: 10, characters: 500 },
  { items: 5, characters: 200 },
  { items: 2, characters: 100 },
] as const

type Step = (typeof steps)[number]

/**
 * Shortens data to `maxCharacters` of JSON. Long lists and texts lose their ends and state how much was left out. Data that does not
 * fit even then is returned in the shortest form.
 */
export function shortenJson(value: JsonValue, maxCharacters: number): JsonValue {
  let shorter = value
  for (const step of steps) {
    if (JSON.stringify(shorter).length <= maxCharacters) return shorter
    shorter = shorten(value, step)
  }
  return shorter
}

function shorten(value: JsonValue, step: Step): JsonValue {
  if (typeof value === 'string') return shortenText(value, step.characters)
  if (typeof value !== 'object' || value === null) return value
  if (!Array.isArray(value)) return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, shorten(child, step)]))
  const items = value.slice(0, step.items).map((item) => shorten(item, step))
  return value.length <= step.items ? items : [...items, `[${value.length - step.items} more of ${value.length} left out]`]
}

function shortenText(text: string, characters: number): string {
  if (text.length <= characters) return text
  return `${text.slice(0, characters).toWellFormed()} [${text.length - characters} more characters left out]`
}
