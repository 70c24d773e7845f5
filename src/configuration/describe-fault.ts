import type { ErrorObject } from 'ajv'
import type { Path } from './problems.ts'
import { hideUrlSecrets } from './redact.ts'
import { holdsSecrets, isSecret, schemasUnder, type Schema } from './schema-walk.ts'

const shownLength = 60

/** Where a fault found by Ajv is, and a sentence that says what it was and what it may be. `schema` is the one that was checked. */
export function describeFault(error: ErrorObject, schema: Schema, root: unknown): { at: Path; message: string } {
  const at = toPath(error.instancePath, root)
  const params: Record<string, unknown> = error.params
  if (error.keyword === 'required') return { at: [...at, String(params['missingProperty'])], message: 'is required and missing' }
  if (error.keyword === 'additionalProperties') return toUnknownKey(error, at)
  if (error.keyword === 'type' && error.data === null) return { at, message: `is empty; it must be ${withArticle(String(params['type']))}` }
  const was = isSecretAt(schema, at) ? 'its value, which is secret,' : show(error.data)
  return { at, message: `${was} ${toRule(error.keyword, params, error)}` }
}

function toUnknownKey(error: ErrorObject, at: Path): { at: Path; message: string } {
  const parent = (error.parentSchema ?? {}) as Schema
  const keys = (keyword: string) => Object.keys((parent[keyword] as object | undefined) ?? {})
  const named = keys('properties')
  const patterns = keys('patternProperties')
  const key = String((error.params as Record<string, unknown>)['additionalProperty'])
  const fits =
    patterns.length > 0 ? `is not a name that fits here; it must match ${patterns.join(' or ')}` : 'is not known; nothing may stand here'
  return { at: [...at, key], message: named.length > 0 ? `is not known; known here are ${named.join(', ')}` : fits }
}

function toRule(keyword: string, params: Record<string, unknown>, error: ErrorObject): string {
  const limit = String(params['limit'])
  switch (keyword) {
    case 'type':
      return `is not ${withArticle(String(params['type']))}`
    case 'enum':
      return `is not known; known are ${(params['allowedValues'] as unknown[]).join(', ')}`
    case 'const':
      return `must be ${JSON.stringify(params['allowedValue'])}`
    case 'minLength':
      return limit === '1' ? 'must not be empty' : `must have at least ${limit} characters`
    case 'minItems':
      return limit === '1' ? 'must not be empty' : `must have at least ${limit} entries`
    case 'minProperties':
      return limit === '1' ? 'must not be empty' : `must have at least ${limit} entries`
    case 'maxLength':
      return `must have at most ${limit} characters`
    case 'maxItems':
    case 'maxProperties':
      return `must have at most ${limit} entries`
    case 'minimum':
      return `must be ${limit} or more`
    case 'maximum':
      return `must be ${limit} or less`
    case 'exclusiveMinimum':
      return `must be more than ${limit}`
    case 'exclusiveMaximum':
      return `must be less than ${limit}`
    case 'pattern':
      return `must match ${String(params['pattern'])}${hint(error)}`
    default:
      return error.message ?? 'does not fit'
  }
}

/** The field's own description, where it has one, says a pattern in words. */
function hint(error: ErrorObject): string {
  const description = error.parentSchema?.['description']
  return typeof description === 'string' ? ` (${description.replace(/\.$/, '')})` : ''
}

function withArticle(type: string): string {
  const names: Record<string, string> = {
    object: 'a mapping',
    array: 'a list',
    integer: 'a whole number',
    string: 'a text',
    boolean: 'true or false',
  }
  return names[type] ?? `a ${type}`
}

function show(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object') return Object.keys(value).length === 0 ? 'an empty mapping' : 'a mapping'
  const text = typeof value === 'string' ? JSON.stringify(hideUrlSecrets(value)) : String(value)
  return text.length > shownLength ? `${text.slice(0, shownLength)}...` : text
}

/** What stands where a mapping of secrets belongs may be one of them. */
function isSecretAt(schema: Schema, at: Path): boolean {
  let schemas = [schema]
  for (const part of at) {
    if (isSecret(schemas)) return true
    schemas = schemasUnder(schemas, part)
  }
  return isSecret(schemas) || holdsSecrets(schemas)
}

/** A JSON pointer as keys and indexes; what is a list in the data decides which. */
function toPath(pointer: string, root: unknown): Path {
  let value = root
  return pointer
    .split('/')
    .slice(1)
    .map((escaped) => {
      const key = escaped.replaceAll('~1', '/').replaceAll('~0', '~')
      const part = Array.isArray(value) ? Number(key) : key
      value = (value as Record<string, unknown> | undefined)?.[key]
      return part
    })
}
