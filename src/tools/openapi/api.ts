import type { JsonSchema, JsonValue } from '../../agent/messages.ts'
import type { References } from './references.ts'

/** The operations of an OpenAPI document as plain data: read in a child process and sent to the service as JSON. */
export interface Api {
  operations: Operation[]
  /** Security schemes by their name in the document. */
  schemes: Record<string, SecurityScheme>
  skipped: SkippedOperation[]
}

/** An operation or a path that cannot become a tool. */
export interface SkippedOperation {
  /** The last part of the tool name. */
  id: string
  /** `GET /pets`, or `/pets` for a whole path. */
  location: string
  /** A sentence without its full stop. */
  reason: string
}

export interface Operation {
  /** `operationId`, or method and path when absent; made valid and unique. */
  id: string
  /** Upper case. */
  method: string
  /** Path template of the document: `/pets/{petId}`. */
  path: string
  description: string
  /** Base address, possibly relative to the address of the document. Absent: the document names no server. */
  server?: string
  /** Schema of the tool input. */
  schema: JsonSchema
  parameters: Parameter[]
  body?: Body
  /** Alternative requirements: the needed scopes by scheme. Absent: the document defines no security. */
  security?: Record<string, string[]>[]
}

export type ParameterIn = 'path' | 'query' | 'header' | 'cookie'

export interface Parameter {
  /** Property of the tool input. */
  key: string
  name: string
  in: ParameterIn
  style: string
  explode: boolean
  allowReserved: boolean
  /** The value is serialised as JSON, regardless of `style`. */
  isJson: boolean
  /** Value of a required parameter that the input leaves out. */
  fallback?: JsonValue
}

export interface Body {
  mediaType: string
  required: boolean
  /** The input property that holds the whole body, or the input properties that are the fields of the body. */
  source: { key: string } | { fields: { key: string; name: string }[] }
  /** Encodings by property, for forms. */
  encoding: Record<string, Encoding>
}

export interface Encoding {
  style?: string
  explode?: boolean
  contentType?: string
  /** The value is sent as a file with the text as content. */
  isFile?: boolean
}

export type SecurityScheme =
  | { type: 'apiKey'; in: Exclude<ParameterIn, 'path'>; name: string }
  | { type: 'basic' }
  | { type: 'bearer' }
  | { type: 'clientCredentials'; tokenUrl: string }
  /** A scheme that is not supported. */
  | { type: 'other'; called: string }

/** Options for reading a document. */
export interface ApiReadOptions {
  include?: readonly string[]
  exclude?: readonly string[]
  /** Headers that the configuration sends, in lower case; parameters with these names are hidden from the model. */
  ownHeaders: readonly string[]
}

/** An operation of the document before conversion. */
export interface FoundOperation {
  id: string
  method: string
  path: string
  tags: string[]
  operation: Record<string, unknown>
  item: Record<string, unknown>
  document: Record<string, unknown>
}

/** Options for converting an operation. */
export interface OperationOptions {
  references: References
  /** Names of parameters that are hidden from the model, because configuration or credentials fill them. */
  excludedParameters: ReadonlySet<string>
  /** Headers that the configuration sends, in lower case. */
  ownHeaders: ReadonlySet<string>
  /** Maximum characters of the schema. */
  maxSchemaCharacters: number
}
