import { toAlternatives, toCode } from './markdown.ts'

/** The keywords of JSON Schema that the pages show. */
export interface Schema {
  $ref?: string
  type?: string
  enum?: readonly unknown[]
  anyOf?: readonly Schema[]
  items?: Schema
  properties?: Readonly<Record<string, Schema>>
  patternProperties?: Readonly<Record<string, Schema>>
  additionalProperties?: Schema | boolean
  required?: readonly string[]
  description?: string
  default?: unknown
  minimum?: number
  exclusiveMinimum?: number
  maximum?: number
  format?: string
  writeOnly?: boolean
}

/** Type and limits of a value as Markdown: `whole number, 1 to 20`. */
export function describeType(schema: Schema): string {
  const { $ref, enum: values, type, anyOf } = schema
  if ($ref !== undefined) return toCode($ref.split('/').at(-1)!)
  if (values) return toAlternatives(values.map((value) => toCode(String(value))))
  if (anyOf) return toAlternatives([...new Set(anyOf.map(describeType))])
  const secret = schema.writeOnly === true ? ', secret' : ''
  switch (type) {
    case 'integer':
    case 'number':
      return `${type === 'integer' ? 'whole number' : 'number'}${describeRange(schema)}`
    case 'string':
      return `${schema.format === 'date-time' ? 'time' : 'text'}${secret}`
    case 'boolean':
      return '`true` or `false`'
    case 'array':
      return `list of ${describeElements(schema.items ?? {})}`
    case 'object':
      return `${schema.properties ? 'object' : 'mapping'}${secret}`
    case 'null':
      return '`null`'
    default:
      return 'any value'
  }
}

function describeElements(items: Schema): string {
  const plurals: Record<string, string> = { text: 'texts', object: 'objects', mapping: 'mappings', 'any value': 'values' }
  const type = describeType(items)
  return plurals[type] ?? type
}

function describeRange({ minimum, exclusiveMinimum, maximum }: Schema): string {
  if (minimum === undefined && exclusiveMinimum === undefined && maximum === undefined) return ''
  if (exclusiveMinimum !== undefined)
    return `, more than ${format(exclusiveMinimum)}${maximum === undefined ? '' : `, at most ${format(maximum)}`}`
  if (maximum === undefined) return `, at least ${format(minimum!)}`
  return minimum === undefined ? `, at most ${format(maximum)}` : `, ${format(minimum)} to ${format(maximum)}`
}

/** `200000` becomes `200,000`. */
function format(value: number): string {
  return value.toLocaleString('en-US')
}
