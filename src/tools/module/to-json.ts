/** Maximum characters of a result; larger data must be kept as an artifact. */
const maxJsonCharacters = 10_000_000

/**
 * Serialises a value as JSON. Throws for values that JSON cannot represent, with the path (`rows[3].total is a bigint`), instead of
 * dropping the value. Dates become ISO texts, undefined fields are left out, and undefined itself becomes null.
 */
export function toJson(value: unknown): string {
  const json = JSON.stringify(toPlain(value, [], []) ?? null)
  if (json.length <= maxJsonCharacters) return json
  throw new Error(`The result has ${json.length} characters of JSON, more than ${maxJsonCharacters}: keep large data with context.artifact`)
}

type ValuePath = readonly (string | number)[]

function toPlain(value: unknown, path: ValuePath, ancestors: readonly object[]): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return value
    case 'number':
      if (Number.isFinite(value)) return value
      throw notJson(path, `is ${value}`)
    case 'object':
      return value === null ? null : toPlainObject(value, path, ancestors)
    default:
      throw notJson(path, `is a ${typeof value}`)
  }
}

function toPlainObject(value: object, path: ValuePath, ancestors: readonly object[]): unknown {
  if (ancestors.includes(value)) throw notJson(path, 'contains itself')
  const inside = [...ancestors, value]
  if ('toJSON' in value && typeof value.toJSON === 'function' && !Buffer.isBuffer(value)) return toPlain(value.toJSON(), path, inside)
  if (Array.isArray(value)) return value.map((element, index) => toPlain(element, [...path, index], inside) ?? null)
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) throw notJson(path, 'is bytes: keep them with context.artifact')
  if (value instanceof Map || value instanceof Set || value instanceof Promise) throw notJson(path, `is a ${value.constructor.name}`)
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, toPlain(part, [...path, key], inside)]))
}

function notJson(at: ValuePath, fault: string): Error {
  const path = at.map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? part : `.${part}`)).join('')
  return new Error(`The result cannot be written as JSON: ${path || 'it'} ${fault}`)
}
