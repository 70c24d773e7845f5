import type { ErrorObject } from 'ajv'
import type { SchemaPath } from './schema-nodes.ts'

/** What Ajv found, in words. */

/** Characters of one fault: a list of permitted values may be as long as the schema, and the model reads each fault. */
const maxFaultCharacters = 500

/** The fault as a clause with its place, such as `/items/0/price must be number`. */
export function describe(error: ErrorObject): string {
  const text = `${error.instancePath || 'the value'} ${clauseOf(error)}`
  return text.length > maxFaultCharacters ? `${text.slice(0, maxFaultCharacters).toWellFormed()}… [cut]` : text
}

/** The fault as a clause about the faulty part. */
export function clauseOf({ keyword, params, message }: ErrorObject): string {
  if (keyword === 'additionalProperties') return `must not have the property ${JSON.stringify(params['additionalProperty'])}`
  if (keyword === 'unevaluatedProperties') return `must not have the property ${JSON.stringify(params['unevaluatedProperty'])}`
  if (keyword === 'enum') return `must be one of ${JSON.stringify(params['allowedValues'])}`
  if (keyword === 'const') return `must be ${JSON.stringify(params['allowedValue'])}`
  return message ?? 'does not fit'
}

/** The steps of a JSON Pointer (RFC 6901); an index becomes a number. */
export function toPath(pointer: string): SchemaPath {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step.replaceAll('~1', '/').replaceAll('~0', '~')))
}
