import { hash } from 'node:crypto'
import type { Tool as ListedTool } from '@modelcontextprotocol/client'
import { isDeeper, isObject } from '../../json/shape.ts'
import type { JsonSchema } from '../../agent/messages.ts'
import type { CheckMaker } from './guarded-check.ts'
import { limits } from './limits.ts'
import { headerFault } from './parameter-headers.ts'
import { toLine, toPlain } from '../plain-text.ts'

/** A tool listed by a server, after validation. */
export interface ServerTool {
  name: string
  description: string
  schema: JsonSchema
  check(input: unknown): string | undefined
  /** The server declares the tool as read-only (`readOnlyHint`). */
  readsOnly: boolean
  /** The listing of the server; parts are sent back with a call. */
  listed: ListedTool
  /** Hash of the description, schema, annotations and execution of the listing: 16 hex digits. */
  hash: string
  /** The reason why the tool is listed but cannot be used. */
  fault?: string
}

interface ServerToolOptions {
  makeCheck: CheckMaker
  /** Tools of the previous list, by name. */
  previousTools: ReadonlyMap<string, ServerTool>
  /** True when a call repeats annotated arguments in HTTP headers. */
  mirrorsArguments: boolean
}

/** Validates a listed tool. Undefined for a listing without a name; the object from `previousTools` when nothing has changed. */
export function toServerTool(listed: unknown, { makeCheck, previousTools, mirrorsArguments }: ServerToolOptions): ServerTool | undefined {
  if (!isObject(listed) || typeof listed['name'] !== 'string') return undefined
  const name = toLine(listed['name'], limits.nameCharacters)
  if (name === '') return undefined
  const { inputSchema, annotations, execution } = listed
  const description = toPlain(typeof listed['description'] === 'string' ? listed['description'] : '', limits.descriptionCharacters)
  const digest = hash('sha256', JSON.stringify([listed['description'], inputSchema, annotations, execution], sortKeys)).slice(0, 16)
  const previousTool = previousTools.get(name)
  if (previousTool?.hash === digest) return previousTool
  const traits = {
    name,
    description: description || `The tool ${name} of the server.`,
    readsOnly: isObject(annotations) && annotations['readOnlyHint'] === true,
    listed: listed as unknown as ListedTool,
    hash: digest,
  }
  try {
    if (name !== listed['name']) throw new Error('its name is too long or contains characters that are not allowed')
    if (isObject(execution) && execution['taskSupport'] === 'required') throw new Error('it can only run as a task, which is not supported')
    assertBounded(inputSchema)
    const fault = mirrorsArguments ? headerFault(inputSchema) : undefined
    if (fault !== undefined) throw new Error(fault)
    const schema = toSchema(inputSchema as Record<string, unknown>)
    return { ...traits, schema, check: makeCheck(schema) }
  } catch (error) {
    const fault = `The tool cannot be used: ${toLine((error as Error).message, 300)}.`
    return { ...traits, schema: { type: 'object' }, check: () => fault, fault }
  }
}

/** Keywords whose values are data, not text of the schema, and stay unchanged. */
const valueKeywords: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples'])

/** Descriptions in the schema are cleaned like the description of the tool, because the model reads both. */
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
