import { object, maybe } from '../../schemas/shared.ts'
import { Type } from 'typebox'
import { reasoningEfforts } from '../../../agent/model.ts'
import { invalid, type Fault } from '../../../errors.ts'
import type { JsonSchema } from '../../../agent/messages.ts'
import { isObject } from '../../../json/shape.ts'

/** Parameters that chat completions and responses share. */

export const Effort = Type.Enum([...reasoningEfforts])

export const Reasoning = object(
  'How much the model reasons. With `summary`, its thoughts are shown: a response has them as `reasoning` items.',
  { effort: maybe(Effort), summary: maybe(Type.String()), generate_summary: maybe(Type.String()) },
)

export const sampling = {
  temperature: maybe(Type.Number({ minimum: 0, maximum: 2 })),
  top_p: maybe(Type.Number({ minimum: 0, maximum: 1 })),
  presence_penalty: maybe(Type.Number({ minimum: -2, maximum: 2 })),
  frequency_penalty: maybe(Type.Number({ minimum: -2, maximum: 2 })),
}

export const InputAudio = maybe(
  object('Audio, for a model that hears audio. The bytes tell the format.', {
    data: maybe(Type.String({ description: 'The bytes in base64.' })),
    format: maybe(Type.String({ maxLength: 20 })),
  }),
)

export const Verbosity = Type.Enum(['low', 'medium', 'high'], {
  description: 'The length of the answer, as an instruction for this run. Default: `medium`, which adds none.',
})

const verbosityTexts: Record<string, string> = {
  low: 'Answer as briefly as you can: only what the question asks for.',
  high: 'Answer in full detail.',
}

/** Instructions for a run: those of the request, and the wish for a length of the answer. */
export function toInstructions(instructions: string | null | undefined, verbosity: string | null | undefined): string | undefined {
  const wish = verbosityTexts[verbosity ?? '']
  return instructions && wish ? `${instructions}\n\n${wish}` : instructions || wish
}

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
