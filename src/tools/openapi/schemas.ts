import type { JsonSchema } from '../../agent/messages.ts'
import { toPlain } from '../plain-text.ts'
import { isObject } from '../../json/is-object.ts'
import type { References } from './references.ts'

/**
 * A schema of a document (OpenAPI 3.0's dialect or JSON Schema) as a model is shown it and its input is checked by: without references,
 * without what only the server writes, and no larger than a model can do something with. What is left out takes any value.
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
/** Characters of each description: rather less of them than less of what can be sent. */
const descriptions = [400, 100, 0]
const maxNodes = 3000
/** A schema that holds itself is shown so many times inside of itself. */
const maxRepeats = 2
const maxDefault = 400
const maxChoices = 200

const types = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])
const counts = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties']
const bounds = ['minimum', 'maximum', 'multipleOf']

function convertFitting(schema: unknown, options: Omit<ConversionOptions, 'description'>, maxCharacters: number) {
  for (const description of descriptions) {
    const conversion = new Conversion({ ...options, description })
    const made = conversion.tryConvert(schema)
    if (made === undefined) return undefined
    if (JSON.stringify(made).length <= maxCharacters) return { made, isCut: conversion.isCut }
  }
  return undefined
}

class TooLarge extends Error {}

interface ConversionOptions {
  references: References
  depth: number
  /** Characters of a description. */
  description: number
}

class Conversion {
  /** Something was left out for its depth. */
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

  private convert(schema: unknown, depth: number, around: readonly unknown[]): JsonSchema {
    if (++this.nodes > maxNodes) throw new TooLarge()
    const found = this.references.follow(schema)
    if (!isObject(found)) return found === false ? { not: {} } : {}
    const isRepeat = around.filter((each) => each === found).length > maxRepeats
    if (depth === 0 || isRepeat) {
      this.isCut ||= !isRepeat
      return { ...describe(found, this.description), ...onlyType(found) }
    }
    // Beside a reference something may be said of this one use of it (3.1).
    const own = found === schema || !isObject(schema) ? found : { ...found, ...schema }
    const inner = (each: unknown) => this.convert(each, depth - 1, [...around, found])
    const made = mergeAll(
      [toOwnWords(own, this.description), this.toObject(own, inner), toArray(own, inner), toChoices(own, inner)],
      own['allOf'],
      inner,
    )
    const known = withoutUnknown(made)
    return own['nullable'] === true ? orNull(known) : known
  }

  private toObject(schema: Record<string, unknown>, inner: (schema: unknown) => JsonSchema): JsonSchema {
    const given = isObject(schema['properties']) ? Object.entries(schema['properties']) : []
    const isSent = (one: unknown) => {
      const found = this.references.follow(one)
      const isReadOnly = (each: unknown) => isObject(each) && each['readOnly'] === true
      return !isReadOnly(one) && !isReadOnly(found)
    }
    const sent = given.filter(([name, one]) => name !== '__proto__' && isSent(one))
    const more = schema['additionalProperties']
    const required = textsIn(schema['required']).filter(
      (name) => !given.some(([each]) => each === name) || sent.some(([each]) => each === name),
    )
    return {
      ...(sent.length > 0 && { properties: Object.fromEntries(sent.map(([name, one]) => [name, inner(one)])) }),
      ...(required.length > 0 && { required }),
      ...(typeof more === 'boolean' && { additionalProperties: more }),
      ...(isObject(more) && { additionalProperties: inner(more) }),
    }
  }
}

function toOwnWords(schema: Record<string, unknown>, description: number): JsonSchema {
  const choices = Array.isArray(schema['enum']) ? [...new Set<unknown>(schema['enum'])] : []
  const isListed = choices.length > 0 && choices.length <= maxChoices
  return {
    ...onlyType(schema),
    ...describe(schema, description),
    ...(isListed && { enum: choices }),
    ...('const' in schema && { const: schema['const'] }),
    ...('default' in schema && JSON.stringify(schema['default'])?.length < maxDefault && { default: schema['default'] }),
    ...(typeof schema['format'] === 'string' && { format: schema['format'] }),
    ...pick(schema, counts, (value) => Number.isInteger(value) && Number(value) >= 0),
    ...pick(schema, bounds, (value) => Number.isFinite(value) && typeof value === 'number'),
    ...toExclusive(schema),
    ...(schema['uniqueItems'] === true && { uniqueItems: true }),
  }
}

/** In 3.0 a word beside `minimum`, in JSON Schema a number of its own. */
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
  const known = (Array.isArray(type) ? type : [type]).filter((each) => types.has(each as string))
  if (known.length === 0) return {}
  return { type: known.length === 1 ? known[0] : [...new Set(known)], ...(known.includes('array') && { items: {} }) }
}

function describe({ description, title, pattern, deprecated }: Record<string, unknown>, most: number): JsonSchema {
  if (most === 0) return {}
  const said = [description, title].find((each): each is string => typeof each === 'string' && each.trim() !== '')
  // It is for the model to heed and for the server to check: a pattern can be made that takes minutes to match.
  const shape = typeof pattern === 'string' && pattern.length <= 100 ? `Pattern: ${pattern}` : undefined
  const words = [deprecated === true ? 'Deprecated.' : undefined, said && shortText(said, most), shape]
  const text = words.filter(Boolean).join(' ')
  return text === '' ? {} : { description: text }
}

/** What a document says, as a model is told it. */
export function shortText(text: string, most: number): string {
  return toPlain(/[^\S\n]{2}|\t|^\s|\s$/.test(text) ? text.trim().replace(/[^\S\n]+/g, ' ') : text, most)
}

function toArray(schema: Record<string, unknown>, inner: (schema: unknown) => JsonSchema): JsonSchema {
  return isObject(schema['items']) ? { items: inner(schema['items']) } : {}
}

/** Documents say "one of" where more than one fits: which it is is for the server to say. */
function toChoices(schema: Record<string, unknown>, inner: (schema: unknown) => JsonSchema): JsonSchema {
  const choices = [schema['anyOf'], schema['oneOf']].find((each) => Array.isArray(each) && each.length > 0) as unknown[] | undefined
  return choices ? { anyOf: choices.map(inner) } : {}
}

/** All of several: one schema where they are objects, which is what a model understands best. */
function mergeAll(own: readonly JsonSchema[], allOf: unknown, inner: (schema: unknown) => JsonSchema): JsonSchema {
  const first: JsonSchema = Object.assign({}, ...own)
  const parts = Array.isArray(allOf) ? allOf.map(inner) : []
  return parts.reduce(merge, first)
}

function merge(one: JsonSchema, other: JsonSchema): JsonSchema {
  const clash = ['anyOf', 'enum', 'not', 'const', 'items'].some((key) => key in one && key in other)
  if (clash) return { ...one, allOf: [...(Array.isArray(one['allOf']) ? one['allOf'] : []), other] }
  const properties = { ...recordIn(other, 'properties'), ...recordIn(one, 'properties') }
  const required = [...new Set([...textsIn(one['required']), ...textsIn(other['required'])])]
  // One of them alone would refuse what the other has.
  const { additionalProperties: _, ...rest } = { ...other, ...one }
  return {
    ...rest,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
  }
}

/** A property that is required and not told of, since the server alone writes it: nobody could send it. */
function withoutUnknown({ required, ...schema }: JsonSchema): JsonSchema {
  const properties = isObject(schema['properties']) ? schema['properties'] : undefined
  const known = textsIn(required).filter((name) => !properties || Object.hasOwn(properties, name))
  return known.length === 0 ? schema : { ...schema, required: known }
}

function orNull(schema: JsonSchema): JsonSchema {
  const { type } = schema
  const isChoice = Array.isArray(schema['enum']) || 'const' in schema || 'anyOf' in schema
  if (isChoice)
    return Array.isArray(schema['enum']) && schema['enum'].includes(null) ? withNull(schema) : { anyOf: [schema, { type: 'null' }] }
  return type === undefined ? schema : withNull(schema)
}

function withNull(schema: JsonSchema): JsonSchema {
  const all = [schema['type']].flat().filter((each) => each !== undefined)
  return all.length === 0 || all.includes('null') ? schema : { ...schema, type: [...all, 'null'] }
}

function recordIn(schema: JsonSchema, key: string): Record<string, unknown> {
  return isObject(schema[key]) ? schema[key] : {}
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

function pick(schema: Record<string, unknown>, keys: readonly string[], isFit: (value: unknown) => boolean): JsonSchema {
  return Object.fromEntries(keys.filter((key) => isFit(schema[key])).map((key) => [key, schema[key]]))
}
