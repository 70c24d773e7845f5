import type { JsonSchema } from '../../agent/messages.ts'
import { isObject, fieldsOf } from '../../json/shape.ts'
import { toPlain } from '../plain-text.ts'
import type { References } from './references.ts'

/**
 * Converts a schema of a document (OpenAPI 3.0 dialect or JSON Schema) for the model and for validating the input: without references and
 * read-only properties, and limited to `maxCharacters`. Parts that are left out accept any value.
 */
export function toInputSchema(schema: unknown, references: References, maxCharacters: number): JsonSchema {
  let best: JsonSchema = {}
  for (let depth = 1; depth <= maxDepth; depth++) {
    const deeper = convertFitting(schema, { references, depth }, maxCharacters)
    if (!deeper) break
    best = deeper.made
    if (!deeper.isCut) break
  }
  return best
}

const maxDepth = 16
/** Characters per description, tried in order: descriptions are shortened before the structure is cut. */
const descriptionLimits = [400, 100, 0]
const maxNodes = 3000
/** Repetitions of a recursive schema inside itself. */
const maxRepeats = 2
const maxDefault = 400
const maxChoices = 200

const schemaTypes = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])
const countKeywords = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties']
const numberKeywords = ['minimum', 'maximum', 'multipleOf']

function convertFitting(schema: unknown, options: Omit<ConversionOptions, 'description'>, maxCharacters: number) {
  for (const description of descriptionLimits) {
    const conversion = new Conversion({ ...options, description })
    const converted = conversion.tryConvert(schema)
    if (converted === undefined) return undefined
    if (JSON.stringify(converted).length <= maxCharacters) return { made: converted, isCut: conversion.isCut }
  }
  return undefined
}

class TooLarge extends Error {}

interface ConversionOptions {
  references: References
  depth: number
  /** Maximum characters of a description. */
  description: number
}

class Conversion {
  /** True when a part was left out because of the depth. */
  isCut = false
  private nodes = 0
  private readonly references: References
  private readonly depth: number
  private readonly description: number

  constructor({ references, depth, description }: ConversionOptions) {
    this.references = references
    this.depth = depth
    this.description = description
  }

  tryConvert(schema: unknown): JsonSchema | undefined {
    try {
      return this.convert(schema, this.depth, [])
    } catch (error) {
      if (error instanceof TooLarge) return undefined
      throw error
    }
  }

  private convert(schema: unknown, depth: number, ancestors: readonly unknown[]): JsonSchema {
    if (++this.nodes > maxNodes) throw new TooLarge()
    const target = this.references.follow(schema)
    if (!isObject(target)) return target === false ? { not: {} } : {}
    const isRepeat = ancestors.filter((ancestor) => ancestor === target).length > maxRepeats
    if (depth === 0 || isRepeat) {
      this.isCut ||= !isRepeat
      return { ...describe(target, this.description), ...onlyType(target) }
    }
    // OpenAPI 3.1 allows keywords beside `$ref`, which apply to this use only.
    const merged = target === schema || !isObject(schema) ? target : { ...target, ...schema }
    const inner = (child: unknown) => this.convert(child, depth - 1, [...ancestors, target])
    const converted = mergeAll(
      [toOwnKeywords(merged, this.description), this.toObject(merged, inner), toArray(merged, inner), toChoices(merged, inner)],
      merged['allOf'],
      inner,
    )
    const result = withoutUnknownRequired(converted)
    return merged['nullable'] === true ? orNull(result) : result
  }

  private toObject(schema: Record<string, unknown>, inner: (schema: unknown) => JsonSchema): JsonSchema {
    const allProperties = isObject(schema['properties']) ? Object.entries(schema['properties']) : []
    const isSent = (property: unknown) => {
      const target = this.references.follow(property)
      const isReadOnly = (value: unknown) => isObject(value) && value['readOnly'] === true
      return !isReadOnly(property) && !isReadOnly(target)
    }
    const sentProperties = allProperties.filter(([name, property]) => name !== '__proto__' && isSent(property))
    const additional = schema['additionalProperties']
    const required = textsIn(schema['required']).filter(
      (name) => !allProperties.some(([key]) => key === name) || sentProperties.some(([key]) => key === name),
    )
    return {
      ...(sentProperties.length > 0 && {
        properties: Object.fromEntries(sentProperties.map(([name, property]) => [name, inner(property)])),
      }),
      ...(required.length > 0 && { required }),
      ...(typeof additional === 'boolean' && { additionalProperties: additional }),
      ...(isObject(additional) && { additionalProperties: inner(additional) }),
    }
  }
}

function toOwnKeywords(schema: Record<string, unknown>, description: number): JsonSchema {
  const choices = Array.isArray(schema['enum']) ? [...new Set<unknown>(schema['enum'])] : []
  const isListed = choices.length > 0 && choices.length <= maxChoices
  return {
    ...onlyType(schema),
    ...describe(schema, description),
    ...(isListed && { enum: choices }),
    ...('const' in schema && { const: schema['const'] }),
    ...('default' in schema && JSON.stringify(schema['default'])?.length < maxDefault && { default: schema['default'] }),
    ...(typeof schema['format'] === 'string' && { format: schema['format'] }),
    ...pick(schema, countKeywords, (value) => Number.isInteger(value) && Number(value) >= 0),
    ...pick(schema, numberKeywords, (value) => Number.isFinite(value) && typeof value === 'number'),
    ...toExclusive(schema),
    ...(schema['uniqueItems'] === true && { uniqueItems: true }),
  }
}

/** Exclusive limits: a boolean beside `minimum` in OpenAPI 3.0, a number in JSON Schema. */
function toExclusive(schema: Record<string, unknown>): JsonSchema {
  return Object.fromEntries(
    (['minimum', 'maximum'] as const).flatMap((name) => {
      const key = `exclusive${name[0]!.toUpperCase()}${name.slice(1)}`
      const value = schema[key] === true ? schema[name] : schema[key]
      return typeof value === 'number' && Number.isFinite(value) ? [[key, value]] : []
    }),
  )
}

function onlyType({ type }: Record<string, unknown>): JsonSchema {
  const knownTypes = (Array.isArray(type) ? type : [type]).filter((name) => schemaTypes.has(name as string))
  if (knownTypes.length === 0) return {}
  return { type: knownTypes.length === 1 ? knownTypes[0] : [...new Set(knownTypes)], ...(knownTypes.includes('array') && { items: {} }) }
}

function describe({ description, title, pattern, deprecated }: Record<string, unknown>, maxCharacters: number): JsonSchema {
  if (maxCharacters === 0) return {}
  const sourceText = [description, title].find((text): text is string => typeof text === 'string' && text.trim() !== '')
  // The pattern is only described, not validated here: a hostile pattern can take minutes to match. The server validates the value.
  const shape = typeof pattern === 'string' && pattern.length <= 100 ? `Pattern: ${pattern}` : undefined
  const words = [deprecated === true ? 'Deprecated.' : undefined, sourceText && shortText(sourceText, maxCharacters), shape]
  const text = words.filter(Boolean).join(' ')
  return text === '' ? {} : { description: text }
}

/** A text of a document, cleaned and shortened for the model. */
export function shortText(text: string, maxCharacters: number): string {
  return toPlain(/[^\S\n]{2}|\t|^\s|\s$/.test(text) ? text.trim().replace(/[^\S\n]+/g, ' ') : text, maxCharacters)
}

function toArray(schema: Record<string, unknown>, inner: (schema: unknown) => JsonSchema): JsonSchema {
  return isObject(schema['items']) ? { items: inner(schema['items']) } : {}
}

/** `oneOf` is treated as `anyOf`: documents use `oneOf` for overlapping schemas, and the server decides. */
function toChoices(schema: Record<string, unknown>, inner: (schema: unknown) => JsonSchema): JsonSchema {
  const choices = [schema['anyOf'], schema['oneOf']].find((list) => Array.isArray(list) && list.length > 0) as unknown[] | undefined
  return choices ? { anyOf: choices.map(inner) } : {}
}

/** Merges `allOf` into a single schema when all parts are objects, because models understand a single schema best. */
function mergeAll(ownParts: readonly JsonSchema[], allOf: unknown, inner: (schema: unknown) => JsonSchema): JsonSchema {
  const first: JsonSchema = Object.assign({}, ...ownParts)
  const parts = Array.isArray(allOf) ? allOf.map(inner) : []
  return parts.reduce(merge, first)
}

function merge(first: JsonSchema, second: JsonSchema): JsonSchema {
  const clash = ['anyOf', 'enum', 'not', 'const', 'items'].some((key) => key in first && key in second)
  if (clash) return { ...first, allOf: [...(Array.isArray(first['allOf']) ? first['allOf'] : []), second] }
  const properties = { ...fieldsOf(second['properties']), ...fieldsOf(first['properties']) }
  const required = [...new Set([...textsIn(first['required']), ...textsIn(second['required'])])]
  // `additionalProperties` of one part would refuse the properties of the other part.
  const { additionalProperties: _, ...rest } = { ...second, ...first }
  return {
    ...rest,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
  }
}

/** Removes required names without a property: the property is read-only and cannot be sent. */
function withoutUnknownRequired({ required, ...schema }: JsonSchema): JsonSchema {
  const properties = isObject(schema['properties']) ? schema['properties'] : undefined
  const knownNames = textsIn(required).filter((name) => !properties || Object.hasOwn(properties, name))
  return knownNames.length === 0 ? schema : { ...schema, required: knownNames }
}

function orNull(schema: JsonSchema): JsonSchema {
  const { type } = schema
  const isChoice = Array.isArray(schema['enum']) || 'const' in schema || 'anyOf' in schema
  if (isChoice)
    return Array.isArray(schema['enum']) && schema['enum'].includes(null) ? withNull(schema) : { anyOf: [schema, { type: 'null' }] }
  return type === undefined ? schema : withNull(schema)
}

function withNull(schema: JsonSchema): JsonSchema {
  const all = [schema['type']].flat().filter((type) => type !== undefined)
  return all.length === 0 || all.includes('null') ? schema : { ...schema, type: [...all, 'null'] }
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

function pick(schema: Record<string, unknown>, keys: readonly string[], isFit: (value: unknown) => boolean): JsonSchema {
  return Object.fromEntries(keys.filter((key) => isFit(schema[key])).map((key) => [key, schema[key]]))
}
