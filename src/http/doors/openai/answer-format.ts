import type { JsonSchema } from '../../../agent/messages.ts'
import { invalid, type Fault } from '../../../errors.ts'
import { isObject } from '../../../json/shape.ts'

/** The schema that a client asks for, and its location in the request. */
export interface AnswerFormat {
  /** Null for any text, whatever agent.yaml says. */
  response_schema: JsonSchema | null
  at: Fault['loc']
}

/** A format as a client sends it. */
interface SentFormat {
  type: string
  /** The schema with its name in chat completions; responses have these fields in the format itself. */
  json_schema?: unknown
  [field: string]: unknown
}

/** Reads `response_format` of chat completions, or `text.format` of responses; undefined where a client sends none. */
export function toAnswerFormat(format: SentFormat | null | undefined, at: Fault['loc']): AnswerFormat | undefined {
  if (!format) return undefined
  switch (format.type) {
    case 'text':
      return { response_schema: null, at }
    case 'json_object':
      return { response_schema: { type: 'object' }, at }
    case 'json_schema':
      return 'json_schema' in format ? toSchema(format.json_schema, [...at, 'json_schema']) : toSchema(format, at)
    default:
      throw invalid([...at, 'type'], 'must be text, json_object or json_schema', 'unsupported_parameter')
  }
}

/** A description of the format stands in the schema, where the model reads it. */
function toSchema(definition: unknown, at: Fault['loc']): AnswerFormat {
  const { schema, description } = isObject(definition) ? definition : {}
  if (schema === undefined) throw invalid([...at, 'schema'], 'is required', 'missing')
  if (!isObject(schema)) throw invalid([...at, 'schema'], 'must be object')
  return { response_schema: typeof description === 'string' ? { description, ...schema } : schema, at: [...at, 'schema'] }
}
