import { shown } from './fields.ts'
import type { SchemaNode } from './schema-node.ts'

/** The rule of a schema that a value breaks, in the words of the service: "must be a list, but is a text". Undefined where it fits. */
export function ruleOf(schema: SchemaNode, value: unknown): string | undefined {
  if (schema.type !== undefined && !isOfType(schema.type, value)) return `must be ${names[schema.type]}, but is ${nameOf(value)}`
  if (schema.enum && !schema.enum.includes(value)) return `must be one of ${schema.enum.map(shown).join(', ')}`
  if (schema.const !== undefined && schema.const !== value) return `must be ${shown(schema.const)}`
  if (typeof value === 'number') return numberRule(schema, value)
  if (typeof value === 'string') return textRule(schema, value)
  if (Array.isArray(value)) return sizeRule(schema.minItems, schema.maxItems, value.length, 'entries')
  if (typeof value === 'object' && value !== null)
    return sizeRule(schema.minProperties, schema.maxProperties, Object.keys(value).length, 'entries')
  return undefined
}

const names: Record<string, string> = {
  object: 'a mapping',
  array: 'a list',
  integer: 'a whole number',
  number: 'a number',
  string: 'a text',
  boolean: 'true or false',
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'array':
      return Array.isArray(value)
    case 'integer':
      return Number.isInteger(value)
    default:
      return typeof value === type
  }
}

function nameOf(value: unknown): string {
  if (value === null || value === undefined) return 'empty'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a mapping'
  return typeof value === 'string' ? 'a text' : String(value)
}

function numberRule({ minimum, maximum, exclusiveMinimum }: SchemaNode, value: number): string | undefined {
  if (minimum !== undefined && value < minimum) return `must be ${minimum} or more`
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return `must be more than ${exclusiveMinimum}`
  return maximum !== undefined && value > maximum ? `must be ${maximum} or less` : undefined
}

function textRule({ minLength, maxLength, pattern, description }: SchemaNode, value: string): string | undefined {
  const size = sizeRule(minLength, maxLength, value.length, 'characters')
  if (size !== undefined || pattern === undefined || new RegExp(pattern, 'u').test(value)) return size
  return `must match ${pattern}${description ? ` (${description.replace(/\.$/, '')})` : ''}`
}

function sizeRule(min: number | undefined, max: number | undefined, size: number, unit: string): string | undefined {
  if (min !== undefined && size < min) return size === 0 ? 'must not be empty' : `must have at least ${min} ${unit}`
  return max !== undefined && size > max ? `must have at most ${max} ${unit}` : undefined
}
