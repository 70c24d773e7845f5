import type { ModelRequest } from '../../agent/model.ts'
import type { ModelAbilities } from '../../configuration/models/abilities.ts'
import { isStrict } from '../strict-schema.ts'

/**
 * `response_format` of a request with a schema; undefined where the provider's form does not fit. A server that decodes by the schema calls no
 * tools then, so that such a server gets the form only in requests without tools.
 */
export function toResponseFormat(
  { responseSchema, tools }: Pick<ModelRequest, 'responseSchema' | 'tools'>,
  ability: ModelAbilities['structuredOutput'],
): object | undefined {
  // OpenAI and most servers accept only objects.
  if (!responseSchema || responseSchema['type'] !== 'object') return undefined
  if (ability === 'none' || (tools.length > 0 && ability !== 'with_tools')) return undefined
  const { $schema: _, ...schema } = responseSchema
  return { type: 'json_schema', json_schema: { name: 'answer', schema, strict: isStrict(schema) } }
}
