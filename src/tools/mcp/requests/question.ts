import type { JsonObject } from '../../../agent/messages.ts'
import type { Question } from '../../../agent/suspension.ts'
import { isDeeper, isObject } from '../../../json/shape.ts'
import { createCheckMaker } from '../guarded-check.ts'
import { limits } from '../limits.ts'
import { toPlain } from '../../plain-text.ts'

/**
 * An elicitation request (MCP 2025-06-18 and later) as a question to the caller: `{server, question, answer_schema}` for a form, or
 * `{server, question, url}` for a page that the caller visits. Throws for a request that cannot be shown.
 */
export function toQuestion(name: string, server: string, params: unknown): Question {
  const { mode = 'form', message, requestedSchema, url } = Object(params) as Record<string, unknown>
  const question = toPlain(typeof message === 'string' ? message : '', limits.questionCharacters)
  if (mode === 'url') {
    if (typeof url !== 'string' || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
      throw new Error('The server asked to open an address that is not an http or https address.')
    return { name, input: { server, question, url: new URL(url).href } }
  }
  if (mode !== 'form') throw new Error('The server asked a question of an unknown kind.')
  return { name, input: { server, question, answer_schema: toAnswerSchema(requestedSchema) } }
}

function toAnswerSchema(schema: unknown): JsonObject {
  const isFit = isObject(schema) && !isDeeper(schema, limits.schemaDepth) && JSON.stringify(schema).length <= limits.schemaCharacters
  if (!isFit) throw new Error('The server asked a question without a usable schema for the answer.')
  createCheckMaker()(schema)
  return schema as JsonObject
}
