import type { JsonObject, JsonValue } from '../../src/agent/messages.ts'
import { isObject } from '../../src/json/shape.ts'
import { formatNumber } from './numbers.ts'
import { cut } from './passages.ts'
import { toTable } from './rows.ts'

const maxItems = 50
const maxColumns = 8

/** Formats JSON for people: `key: value` lines, a table for similar objects, and lists for other arrays. */
export function describeJson(value: JsonValue): string {
  if (Array.isArray(value)) return describeList(value)
  if (!isObject(value)) return describePlain(value)
  return describeObject(value, '') || 'The tool gave an empty result.'
}

function describeObject(object: JsonObject, indent: string): string {
  const lines = Object.entries(object).map(([key, value]) => {
    const title = indent === '' ? `**${key.replaceAll('_', ' ')}**` : key.replaceAll('_', ' ')
    if (Array.isArray(value) && value.some(isObject)) return `\n${title}:\n\n${describeList(value)}\n`
    if (Array.isArray(value)) return `${indent}- ${title}: ${value.map(describePlain).join(', ') || 'none'}`
    if (isObject(value) && indent === '') return `- ${title}:\n${describeObject(value, '  ')}`
    return `${indent}- ${title}: ${describePlain(value)}`
  })
  return lines.join('\n')
}

function describeList(values: JsonValue[]): string {
  if (values.length === 0) return 'The list is empty.'
  const items = values.slice(0, maxItems)
  const ending = values.length > maxItems ? `\n\n… and ${values.length - maxItems} more.` : ''
  const objects = items.filter((item) => isObject(item))
  if (objects.length < items.length) return items.map((value) => `- ${describePlain(value)}`).join('\n') + ending
  const keys = [...new Set(objects.flatMap((value) => Object.keys(value)))].slice(0, maxColumns)
  const cells = objects.map((value) => keys.map((key) => describePlain(value[key] ?? null)))
  const titles = keys.map((key) => key.replaceAll('_', ' '))
  return toTable(titles, cells) + ending
}

function describePlain(value: JsonValue): string {
  if (value === null) return '–'
  if (typeof value === 'number') return Number.isInteger(value) && Math.abs(value) < 10_000 ? String(value) : formatNumber(value)
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return cut(typeof value === 'string' ? value : JSON.stringify(value), 500)
}
