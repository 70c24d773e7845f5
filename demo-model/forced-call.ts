import type { JsonObject, JsonSchema, JsonValue } from '../src/agent/messages.ts'
import type { ModelRequest, RequestedCall } from '../src/agent/model.ts'
import { listed, named } from '../src/json/schema/schema-nodes.ts'
import { fillArguments, typeOf } from './arguments.ts'
import { needsYes, toProfile, weigh } from './tools.ts'

/** Characters of a question that are compared with the tools. */
const maxQuestion = 2_000

/** The call that a request demands although no tool fits the question; undefined where none is demanded. */
export function callOf({ options, tools, messages }: ModelRequest): RequestedCall | undefined {
  const choice = options?.toolChoice
  if (choice === undefined || choice === 'auto' || choice === 'none') return undefined
  const candidates = tools.filter((tool) => !needsYes(tool) && (typeof choice !== 'object' || tool.name === choice.name))
  const question = messages.findLast((message) => message.role === 'user')?.text ?? ''
  const profiles = candidates.map(toProfile)
  const weights = profiles.map((profile) => weigh(profile, question.slice(0, maxQuestion), profiles).score)
  const tool = candidates[weights.indexOf(Math.max(...weights))]
  return tool && { name: tool.name, arguments: JSON.stringify(inputFrom(tool.schema, question)) }
}

/** An input with all required parameters: what the question gives, the question itself for texts, and empty values. */
function inputFrom(schema: JsonSchema, question: string): JsonObject {
  const { input, missing } = fillArguments(schema, question)
  const properties = named(schema, 'properties') as Record<string, JsonSchema>
  return { ...input, ...Object.fromEntries(missing.map((name) => [name, valueOf(properties[name] ?? {}, question)])) }
}

function valueOf(schema: JsonSchema, question: string): JsonValue {
  if ('enum' in schema) return (listed(schema, 'enum')[0] ?? null) as JsonValue
  const type = typeOf(schema)
  if (type === 'integer' || type === 'number') return Number(schema['minimum'] ?? 0)
  if (type === 'boolean' || type === 'null') return type === 'null' ? null : false
  if (type === 'array') return []
  return type === 'object' ? inputFrom(schema, question) : question
}
