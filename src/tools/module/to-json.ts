/** Characters; a result that is larger is an artifact. */
const maxJson = 10_000_000

/**
 * The text of a value as JSON. Throws for what JSON can't say, naming where it stands (`rows[3].total is a bigint`), in place of leaving it
 * out. Dates become ISO texts, fields that are undefined are left out, and no value at all is null.
 */
export function toJson(value: unknown): string {
  const json = JSON.stringify(toPlain(value, [], []) ?? null)
  if (json.length <= maxJson) return json
  throw new Error(`The result has ${json.length} characters of JSON, more than ${maxJson}: keep large data with context.artifact`)
}

type At = readonly (string | number)[]

function toPlain(value: unknown, at: At, around: readonly object[]): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return value
    case 'number':
      if (Number.isFinite(value)) return value
      throw notJson(at, `is ${value}`)
    case 'object':
      return value === null ? null : toPlainObject(value, at, around)
    default:
      throw notJson(at, `is a ${typeof value}`)
  }
}

function toPlainObject(value: object, at: At, around: readonly object[]): unknown {
  if (around.includes(value)) throw notJson(at, 'contains itself')
  const inside = [...around, value]
  if ('toJSON' in value && typeof value.toJSON === 'function' && !Buffer.isBuffer(value)) return toPlain(value.toJSON(), at, inside)
  if (Array.isArray(value)) return value.map((element, index) => toPlain(element, [...at, index], inside) ?? null)
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) throw notJson(at, 'is bytes: keep them with context.artifact')
  if (value instanceof Map || value instanceof Set || value instanceof Promise) throw notJson(at, `is a ${value.constructor.name}`)
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, toPlain(part, [...at, key], inside)]))
}

function notJson(at: At, what: string): Error {
  const path = at.map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? part : `.${part}`)).join('')
  return new Error(`The result can't be written as JSON: ${path || 'it'} ${what}`)
}
