import { createHmac } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { nodesOf } from '../../src/json/schema/schema-nodes.ts'

/** A provider as the server plays it: its addresses, its rules and its stream. */

export interface ScriptedCall {
  name: string
  input: object
}

/** What a model answers, in the order reasoning, searches, text, calls. */
export interface Answer {
  reasoning?: string
  /** Queries of searches that the provider runs, each with one page. */
  searches?: string[]
  text?: string
  calls?: ScriptedCall[]
  /** The provider pauses and wants to be asked again (Claude). */
  isPaused?: boolean
  /** Names the only provider that gives this answer. The others are down until then. */
  by?: string
  /** The answer waits for this promise. */
  begins?: Promise<void>
  /** The response as it is, in place of an answer in the provider's usual form. */
  raw?: RawResponse
}

export interface RawResponse {
  status?: number
  contentType?: string
  headers?: Record<string, string>
  bytes: string | Uint8Array
  /** Bytes of a write. */
  writes?: number
}

export interface WireRequest {
  provider: string
  path: string
  headers: IncomingHttpHeaders
  body: any
}

/** Answer of a provider to a request that breaks its rules. */
export interface Refusal {
  status: number
  body: object
}

export interface WireProvider {
  name: string
  /** The model in agent.yaml, without `base_url`. */
  llm: Record<string, unknown>
  /** What follows the host in `base_url`. */
  basePath: string
  /** Addresses that the provider has, with their query. */
  paths: RegExp
  contentType: string
  check(request: WireRequest): Refusal | undefined
  /** The events of an answer. `n` is unique in the server, for ids. */
  stream(answer: Answer, n: number): Uint8Array[]
  /** A refusal that teaches the service a rule of a server whose host it does not know. */
  lesson?: RegExp
}

/** A rule returns what is wrong with a request. */
export type Rule = (request: WireRequest) => string | undefined

/** The first fault that a rule finds. */
export function firstFault(rules: readonly Rule[], request: WireRequest): string | undefined {
  for (const rule of rules) {
    const fault = rule(request)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** The first field that is not in the list. */
export function unknownField(value: object, fields: readonly string[]): string | undefined {
  return Object.keys(value).find((name) => !fields.includes(name))
}

/** Signature of a provider for a text that it made. */
export function sign(provider: string, text: string): string {
  return createHmac('sha256', `secret of ${provider}`).update(text).digest('base64')
}

const refusedAtTop = ['oneOf', 'anyOf', 'allOf', 'enum', 'const', 'not']

/** What OpenAI and Claude refuse in the schema of a tool, and OpenAI in arrays; undefined for an accepted schema. */
export function toolSchemaFault(schema: Record<string, unknown>): string | undefined {
  const isObject = schema['type'] === 'object' && !refusedAtTop.some((keyword) => keyword in schema)
  if (!isObject)
    return "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level. input_schema does not support oneOf, allOf, or anyOf at the top level"
  if (typeof schema['properties'] !== 'object') return 'In context=(), object schema missing properties.'
  for (const { schema: inner } of nodesOf(schema)) {
    if ([inner['type']].flat().includes('array') && inner['items'] === undefined) return 'array schema missing items.'
    if (Array.isArray(inner['items'])) return "JSON schema is invalid. [] is not of type 'object', 'boolean'."
  }
  return undefined
}

/** The name of a parameter that Claude refuses at the top of the schema of a tool; undefined for none. */
export function refusedProperty({ properties = {} }: { properties?: object }): string | undefined {
  const isAccepted = Object.keys(properties).every((name) => /^[a-zA-Z0-9_.-]{1,64}$/.test(name))
  return isAccepted ? undefined : "input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"
}

export const isBlank = (text: unknown): boolean => typeof text !== 'string' || text.trim() === ''

/** An event of server-sent events. */
export function sse(data: object | string, event?: string): Buffer {
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  return Buffer.from(`${event === undefined ? '' : `event: ${event}\n`}data: ${text}\n\n`)
}

/** Splits a text into pieces, as providers do. */
export function piecesOf(text: string, length = 7): string[] {
  return Array.from({ length: Math.ceil(text.length / length) }, (_, index) => text.slice(index * length, (index + 1) * length))
}

/** Cuts bytes into writes of a length. */
export function cut(bytes: Uint8Array, length: number): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / length) }, (_, index) => bytes.subarray(index * length, (index + 1) * length))
}
