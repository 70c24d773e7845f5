import { isObject } from '../../json/is-object.ts'
import type { FoundOperation, SkippedOperation } from './api.ts'
import { findOperations } from './operations.ts'
import type { References } from './references.ts'
import { messageOf } from '../../errors.ts'

/** Swagger 2.0 written with what its conversion understands: plain parameters in each operation, wherever the document has them. */
export interface PlainSwagger {
  document: Record<string, unknown>
  /** Operations that OpenAPI 3 has no words for. */
  skipped: SkippedOperation[]
}

/** `href`: of the document, whose protocol counts where the document names none. */
export function toPlainSwagger(document: Record<string, unknown>, href: string, references: References): PlainSwagger {
  const { readable, unread } = findOperations(document, references)
  const skipped = [...unread]
  const paths: Record<string, Record<string, unknown>> = {}
  for (const found of readable) {
    try {
      const item = (paths[found.path] ??= {})
      item[found.method.toLowerCase()] = toPlainOperation(found, references)
    } catch (error) {
      const reason = messageOf(error)
      skipped.push({ id: found.id, place: `${found.method} ${found.path}`, reason })
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

/** Converts it to OpenAPI 3.0. Changes `document`. */
export async function upgradeSwagger(document: Record<string, unknown>): Promise<Record<string, unknown>> {
  const { upgradeFromTwoToThree } = await import('@scalar/openapi-upgrader/2.0-to-3.0')
  const upgraded = upgradeFromTwoToThree(document) as Record<string, unknown>
  for (const item of Object.values(recordIn(upgraded, 'paths')))
    for (const operation of Object.values(isObject(item) ? item : {})) if (isObject(operation)) requireForm(operation['requestBody'])
  // Other files of the document refer to schemas by their former place.
  return { ...upgraded, definitions: recordIn(recordIn(upgraded, 'components'), 'schemas') }
}

/** The conversion says of each field whether it is required, and nothing of the form. */
function requireForm(body: unknown): void {
  if (!isObject(body) || body['required'] !== undefined) return
  const contents = Object.values(recordIn(body, 'content')).filter(isObject)
  body['required'] = contents.some(({ schema }) => isObject(schema) && Array.isArray(schema['required']) && schema['required'].length > 0)
}

/** By https where the document leaves a choice. */
function toSchemes(given: unknown, href: string): string[] {
  const named = (Array.isArray(given) ? given : []).filter((each): each is string => each === 'https' || each === 'http')
  return named.length > 0 ? named.toSorted().toReversed() : [href.startsWith('http:') ? 'http' : 'https']
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

/** Of a path and of its operation, which wins. The conversion changes parameters: each operation has its own. */
function toPlainParameters(lists: readonly unknown[], references: References): Record<string, unknown>[] {
  const byPlace = new Map<string, Record<string, unknown>>()
  for (const given of lists.flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []))) {
    const parameter = references.follow(given)
    if (!isObject(parameter)) throw new Error(`a parameter cannot be read: ${references.whyNot(given)}`)
    const place = parameter['in'] === 'body' ? 'body' : `${String(parameter['in'])} ${String(parameter['name'])}`
    byPlace.set(place, withFormat(parameter))
  }
  const all = [...byPlace.values()]
  if (byPlace.has('body') && all.some((each) => each['in'] === 'formData')) throw new Error('it has a body and fields of a form')
  return all
}

/** The conversion writes lists in the common way where OpenAPI 3 does not have theirs: such a call would mean something else. */
function withFormat(parameter: Record<string, unknown>): Record<string, unknown> {
  if (parameter['type'] !== 'array') return { ...parameter }
  const { name, in: place, collectionFormat = 'csv' } = parameter
  const isKnown = place === 'query' || place === 'formData' ? collectionFormat !== 'tsv' : collectionFormat === 'csv'
  if (!isKnown) throw new Error(`its parameter ${String(name)} is a list in the format ${String(collectionFormat)}, which is not supported`)
  return { ...parameter, collectionFormat }
}

function toConsumes(parameters: readonly Record<string, unknown>[], declared: readonly string[]): string[] {
  const fields = parameters.filter((each) => each['in'] === 'formData')
  if (fields.length === 0) return declared.length > 0 ? [...declared] : ['application/json']
  if (fields.some(({ type }) => type === 'file')) return ['multipart/form-data']
  return [formTypes.find((type) => declared.includes(type)) ?? formTypes[0]!]
}

function recordIn(value: Record<string, unknown>, key: string): Record<string, unknown> {
  return isObject(value[key]) ? value[key] : {}
}
