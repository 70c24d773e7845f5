import { messageOf } from '../../errors.ts'
import { isObject, fieldsOf } from '../../json/shape.ts'
import type { FoundOperation, SkippedOperation } from './api.ts'
import { findOperations } from './operations.ts'
import type { References } from './references.ts'

/** Swagger 2.0 in the form that the converter supports: resolved parameters in each operation. */
export interface PlainSwagger {
  document: Record<string, unknown>
  /** Operations that cannot be expressed in OpenAPI 3. */
  skipped: SkippedOperation[]
}

/** `href`: address of the document; its protocol is the default for `schemes`. */
export function toPlainSwagger(document: Record<string, unknown>, href: string, references: References): PlainSwagger {
  const { readable, unreadable } = findOperations(document, references)
  const skipped = [...unreadable]
  const paths: Record<string, Record<string, unknown>> = {}
  for (const operation of readable) {
    try {
      const item = (paths[operation.path] ??= {})
      item[operation.method.toLowerCase()] = toPlainOperation(operation, references)
    } catch (error) {
      const reason = messageOf(error)
      skipped.push({ id: operation.id, location: `${operation.method} ${operation.path}`, reason })
    }
  }
  const { swagger, host, basePath, definitions, securityDefinitions, security } = document
  const plain = {
    swagger,
    host,
    basePath,
    definitions,
    securityDefinitions,
    security,
    schemes: toSchemes(document['schemes'], href),
    paths,
  }
  return { document: Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined)), skipped }
}

/** Converts Swagger 2.0 to OpenAPI 3.0. Changes `document`. */
export async function upgradeSwagger(document: Record<string, unknown>): Promise<Record<string, unknown>> {
  const { upgradeFromTwoToThree } = await import('@scalar/openapi-upgrader/2.0-to-3.0')
  const upgraded = upgradeFromTwoToThree(document) as Record<string, unknown>
  for (const item of Object.values(fieldsOf(upgraded['paths'])))
    for (const operation of Object.values(fieldsOf(item))) if (isObject(operation)) requireForm(operation['requestBody'])
  // Other files of the document still refer to `#/definitions`.
  return { ...upgraded, definitions: fieldsOf(fieldsOf(upgraded['components'])['schemas']) }
}

/** Marks a form as required when a field is required: the converter sets `required` per field only. */
function requireForm(body: unknown): void {
  if (!isObject(body) || body['required'] !== undefined) return
  const contents = Object.values(fieldsOf(body['content'])).filter(isObject)
  body['required'] = contents.some(({ schema }) => isObject(schema) && Array.isArray(schema['required']) && schema['required'].length > 0)
}

/** Prefers https when the document allows both. */
function toSchemes(value: unknown, href: string): string[] {
  const declared = (Array.isArray(value) ? value : []).filter((item): item is string => item === 'https' || item === 'http')
  return declared.length > 0 ? declared.toSorted().toReversed() : [href.startsWith('http:') ? 'http' : 'https']
}

const formTypes = ['application/x-www-form-urlencoded', 'multipart/form-data']

function toPlainOperation({ operation, item, document }: FoundOperation, references: References): Record<string, unknown> {
  const { operationId, summary, description, tags, deprecated, security } = operation
  const parameters = toPlainParameters([item['parameters'], operation['parameters']], references)
  const declared = [operation['consumes'], document['consumes']].find(Array.isArray) ?? []
  const consumes = toConsumes(parameters, declared.map(String))
  const plain = { operationId, summary, description, tags, deprecated, security, parameters, consumes }
  return Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined))
}

/** Merges the parameters of a path and its operation; the operation wins. Copies are returned, because the converter changes parameters. */
function toPlainParameters(lists: readonly unknown[], references: References): Record<string, unknown>[] {
  const byLocation = new Map<string, Record<string, unknown>>()
  for (const value of lists.flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []))) {
    const parameter = references.follow(value)
    if (!isObject(parameter)) throw new Error(`a parameter cannot be read: ${references.explainFailure(value)}`)
    const location = parameter['in'] === 'body' ? 'body' : `${String(parameter['in'])} ${String(parameter['name'])}`
    byLocation.set(location, withFormat(parameter))
  }
  const all = [...byLocation.values()]
  if (byLocation.has('body') && all.some((item) => item['in'] === 'formData')) throw new Error('it has both a body and form fields')
  return all
}

/** Throws for list formats unknown to OpenAPI 3: the converter would use the default format, and the call would mean something else. */
function withFormat(parameter: Record<string, unknown>): Record<string, unknown> {
  if (parameter['type'] !== 'array') return { ...parameter }
  const { name, in: location, collectionFormat = 'csv' } = parameter
  const isKnown = location === 'query' || location === 'formData' ? collectionFormat !== 'tsv' : collectionFormat === 'csv'
  if (!isKnown) throw new Error(`its parameter ${String(name)} is a list in the format ${String(collectionFormat)}, which is not supported`)
  return { ...parameter, collectionFormat }
}

function toConsumes(parameters: readonly Record<string, unknown>[], declared: readonly string[]): string[] {
  const fields = parameters.filter((item) => item['in'] === 'formData')
  if (fields.length === 0) return declared.length > 0 ? [...declared] : ['application/json']
  if (fields.some(({ type }) => type === 'file')) return ['multipart/form-data']
  return [formTypes.find((type) => declared.includes(type)) ?? formTypes[0]!]
}
