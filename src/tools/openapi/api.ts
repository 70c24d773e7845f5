import type { JsonSchema, JsonValue } from '../../agent/messages.ts'
import type { References } from './references.ts'

/** What of an OpenAPI document becomes tools: plain data, made in a process of its own and sent over. */
export interface Api {
  operations: Operation[]
  /** By the name that the document gives them. */
  schemes: Record<string, SecurityScheme>
  skipped: SkippedOperation[]
}

/** An operation, or a path, of which no tool can be made. */
export interface SkippedOperation {
  /** Ends the name that its tool would have. */
  id: string
  /** `GET /pets`, or `/pets` of a path. */
  place: string
  /** A sentence without its full stop. */
  reason: string
}

export interface Operation {
  /** `operationId`, made fit and unique; made of method and path where there is none. */
  id: string
  /** Upper case. */
  method: string
  /** As the document has it: `/pets/{petId}`. */
  path: string
  description: string
  /** Base addresses may be relative to the document's own. Absent: the document names none. */
  server?: string
  /** Of the tool's input. */
  schema: JsonSchema
  parameters: Parameter[]
  body?: Body
  /** Alternatives: by scheme, the scopes that are needed. Absent: nothing is said. */
  security?: Record<string, string[]>[]
}

export type Place = 'path' | 'query' | 'header' | 'cookie'

export interface Parameter {
  /** Of the tool's input. */
  key: string
  name: string
  in: Place
  style: string
  explode: boolean
  allowReserved: boolean
  /** Written as JSON, whatever its style. */
  isJson: boolean
  /** Sent where the model says nothing of a parameter that is required. */
  fallback?: JsonValue
}

export interface Body {
  mediaType: string
  required: boolean
  /** The property of the input that it is, or those that are its own properties. */
  from: { key: string } | { fields: { key: string; name: string }[] }
  /** By property, of forms. */
  encoding: Record<string, Encoding>
}

export interface Encoding {
  style?: string
  explode?: boolean
  contentType?: string
  /** Sent as a file: the text of one. */
  isFile?: boolean
}

export type SecurityScheme =
  | { type: 'apiKey'; in: Exclude<Place, 'path'>; name: string }
  | { type: 'basic' }
  | { type: 'bearer' }
  | { type: 'clientCredentials'; tokenUrl: string }
  /** One that nothing can be configured for. */
  | { type: 'other'; called: string }

/** What a document is read with. */
export interface ReadOptions {
  include?: readonly string[]
  exclude?: readonly string[]
  /** Headers that the configuration sends: no parameter of theirs is shown. Lower case. */
  ownHeaders: readonly string[]
}

/** An operation as its document has it. */
export interface FoundOperation {
  id: string
  method: string
  path: string
  tags: string[]
  operation: Record<string, unknown>
  item: Record<string, unknown>
  document: Record<string, unknown>
}

/** What an operation is read with. */
export interface Reading {
  references: References
  /** Names of parameters that the model is not asked for: others fill them. */
  hidden: ReadonlySet<string>
  /** Headers that the configuration sends. Lower case. */
  ownHeaders: ReadonlySet<string>
  /** Characters of the schema. */
  room: number
}
