import { hash } from 'node:crypto'
import type { Tool as ListedTool } from '@modelcontextprotocol/client'
import { isDeeper } from '../../agent/json-depth.ts'
import type { JsonSchema } from '../../agent/messages.ts'
import type { CheckMaker } from './guarded-check.ts'
import { isObject } from '../../json/is-object.ts'
import { limits } from './limits.ts'
import { headerFault } from './parameter-headers.ts'
import { toLine, toPlain } from '../plain-text.ts'

/** A tool as a server tells of it, checked. */
export interface ServerTool {
  name: string
  description: string
  schema: JsonSchema
  check(input: unknown): string | undefined
  /** What the server says of itself: that it changes nothing. */
  readsOnly: boolean
  /** As it was listed: some of it goes back with a call. */
  listed: ListedTool
  /** Of all that the model is told of it, and of what it is held for: 16 hex digits. */
  hash: string
  /** Why it can't be used; it is listed all the same. */
  fault?: string
}

interface ReadOptions {
  makeCheck: CheckMaker
  /** The tools of the list before, by name. */
  known: ReadonlyMap<string, ServerTool>
  /** Whether a call repeats annotated arguments in HTTP headers. */
  mirrorsArguments: boolean
}

/** Undefined for a listing without a name; the `known` tool where nothing in its listing has changed. */
export function toServerTool(listed: unknown, { makeCheck, known, mirrorsArguments }: ReadOptions): ServerTool | undefined {
  if (!isObject(listed) || typeof listed['name'] !== 'string') return undefined
  const name = toLine(listed['name'], limits.nameCharacters)
  if (name === '') return undefined
  const { inputSchema, annotations, execution } = listed
  const description = toPlain(typeof listed['description'] === 'string' ? listed['description'] : '', limits.descriptionCharacters)
  const digest = hash('sha256', JSON.stringify([listed['description'], inputSchema, annotations, execution], sortKeys)).slice(0, 16)
  const same = known.get(name)
  if (same?.hash === digest) return same
  const traits = {
    name,
    description: description || `The tool ${name} of the server.`,
    readsOnly: isObject(annotations) && annotations['readOnlyHint'] === true,
    listed: listed as unknown as ListedTool,
    hash: digest,
  }
  try {
    if (name !== listed['name']) throw new Error('its name is too long, or has characters that no name has')
    if (isObject(execution) && execution['taskSupport'] === 'required') throw new Error('it runs as a task only, which is not supported')
    assertBounded(inputSchema)
    const fault = mirrorsArguments ? headerFault(inputSchema) : undefined
    if (fault !== undefined) throw new Error(fault)
    const schema = toSchema(inputSchema as Record<string, unknown>)
    return { ...traits, schema, check: makeCheck(schema) }
  } catch (error) {
    const fault = `The tool can't be used: ${toLine((error as Error).message, 300)}.`
    return { ...traits, schema: { type: 'object' }, check: () => fault, fault }
  }
}

/** Values are left as they are; what stands in these is none of the schema's own text. */
const valueKeywords: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples'])

/** Its descriptions are text for the model like that of the tool. */
function toSchema(schema: Readonly<Record<string, unknown>>): JsonSchema {
  return { ...(withPlainText(schema) as JsonSchema), type: 'object' }
}

function withPlainText(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withPlainText)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      if (valueKeywords.has(key)) return [key, inner]
      const isText = typeof inner === 'string' && (key === 'description' || key === 'title')
      return [key, isText ? toPlain(inner, limits.descriptionCharacters) : withPlainText(inner)]
    }),
  )
}

function assertBounded(schema: unknown): void {
  if (!isObject(schema)) throw new Error('it has no input schema')
  if (schema['type'] !== undefined && schema['type'] !== 'object') throw new Error('its input schema is not of type object')
  if (isDeeper(schema, limits.schemaDepth)) throw new Error('its input schema is nested too deeply')
  if (JSON.stringify(schema).length > limits.schemaCharacters) throw new Error('its input schema is too large')
  if (hasForeignReference(schema)) throw new Error('its input schema refers to another document')
}

function hasForeignReference(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(
    ([key, inner]) => (key === '$ref' && typeof inner === 'string' && !inner.startsWith('#')) || hasForeignReference(inner),
  )
}

function sortKeys(_: string, value: unknown): unknown {
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
