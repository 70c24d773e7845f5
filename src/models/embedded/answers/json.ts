import type { JsonObject, JsonValue } from '../../../agent/messages.ts'
import { formatNumber } from './numbers.ts'
import { cut } from './passages.ts'
import { toTable } from './rows.ts'

const maxItems = 50
const maxColumns = 8

/** Formats JSON for people: `key: value` lines, a table for similar objects, and lists for other arrays. */
export function describeJson(value: JsonValue): string {
  if (Array.isArray(value)) return describeList(value)
  if (typeof value !== 'object' || value === null) return describePlain(value)
  const entries = Object.entries(value)
  if (entries.length === 0) return 'The tool gave an empty result.'
  return entries.map(([key, item]) => describeEntry(key, item)).join('\n')
}

function describeEntry(key: string, value: JsonValue): string {
  const title = `**${key.replaceAll('_', ' ')}**`
  if (Array.isArray(value) && value.some((item) => typeof item === 'object')) return `\n${title}:\n\n${describeList(value)}\n`
  if (Array.isArray(value)) return `- ${title}: ${value.map(describePlain).join(', ') || 'none'}`
  if (typeof value === 'object' && value !== null) {
    return `- ${title}:\n${Object.entries(value)
      .map(([name, item]) => `  - ${name.replaceAll('_', ' ')}: ${describePlain(item)}`)
      .join('\n')}`
  }
  return `- ${title}: ${describePlain(value)}`
}

function describeList(values: JsonValue[]): string {
  if (values.length === 0) return 'The list is empty.'
  const items = values.slice(0, maxItems)
  const ending = values.length > maxItems ? `\n\n… and ${values.length - maxItems} more.` : ''
  const objects = items.filter((value) => typeof value === 'object' && value !== null && !Array.isArray(value))
  if (objects.length < items.length) return items.map((value) => `- ${describePlain(value)}`).join('\n') + ending
  const keys = [...new Set(objects.flatMap((value) => Object.keys(value as JsonObject)))].slice(0, maxColumns)
  const cells = objects.map((value) => keys.map((key) => describePlain((value as JsonObject)[key] ?? null)))
  return (
    toTable(
      keys.map((key) => key.replaceAll('_', ' ')),
      cells,
    ) + ending
  )
}

function describePlain(value: JsonValue): string {
  if (value === null) return '–'
  if (typeof value === 'number') return Number.isInteger(value) && Math.abs(value) < 10_000 ? String(value) : formatNumber(value)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return cut(typeof value === 'string' ? value : JSON.stringify(value), 500)
}
