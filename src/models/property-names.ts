import type { JsonObject, JsonSchema } from '../agent/messages.ts'
import type { ModelReply, ModelRequest, ToolOffer } from '../agent/model.ts'
import { isObject, isDeeper, maxJsonDepth, parseJson } from '../json/shape.ts'
import { listed, named } from '../json/schema/schema-nodes.ts'
import { toToolSchema } from './tool-schema.ts'

/** Names of parameters that Claude accepts at the top of the schema of a tool. */
const accepted = /^[a-zA-Z0-9_.-]{1,64}$/
const maxLength = 64
/** Keywords with names of parameters, left out beside other names: the input of each call is checked by the tool's own schema. */
const withNames = ['dependentRequired', 'dependentSchemas', 'dependencies', 'patternProperties', 'propertyNames']

interface Renamed {
  schema: JsonSchema
  /** The names that the provider knows, by the names of the tool. */
  sent: ReadonlyMap<string, string>
}

const renamedSchemas = new WeakMap<JsonSchema, Renamed>()

/** The request with names of parameters that Claude accepts, in the schemas of tools and in earlier calls. */
export function withSentNames(request: ModelRequest): ModelRequest {
  const renamed = renamedOf(request.tools)
  if (renamed.size === 0) return request
  const tools = request.tools.map((tool) => ({ ...tool, schema: renamed.get(tool.name)?.schema ?? tool.schema }))
  const messages = request.messages.map((message) => {
    if (message.role !== 'assistant') return message
    return { ...message, toolCalls: message.toolCalls.map((call) => renameIn(call, renamed.get(call.name)?.sent)) }
  })
  return { ...request, tools, messages }
}

/** The reply to such a request, with the names of the tools. `tools` are those of the request before. */
export function withRealNames(reply: ModelReply, tools: readonly ToolOffer[]): ModelReply {
  const renamed = renamedOf(tools)
  if (renamed.size === 0) return reply
  const toReal = (name: string) => new Map([...(renamed.get(name)?.sent ?? [])].map(([real, sent]) => [sent, real]))
  return { ...reply, toolCalls: reply.toolCalls.map((call) => renameIn(call, toReal(call.name))) }
}

/** The tools with a name that must change, by the name of the tool. */
function renamedOf(tools: readonly ToolOffer[]): Map<string, Renamed> {
  const renamed = tools.filter(({ provider }) => !provider).map(({ name, schema }) => [name, rename(schema)] as const)
  return new Map(renamed.filter(([, { sent }]) => sent.size > 0))
}

function rename(schema: JsonSchema): Renamed {
  let renamed = renamedSchemas.get(schema)
  if (!renamed) renamedSchemas.set(schema, (renamed = toRenamed(toToolSchema(schema))))
  return renamed
}

function toRenamed(schema: JsonSchema): Renamed {
  const properties = named(schema, 'properties')
  const sent = toSentNames(Object.keys(properties))
  if (sent.size === 0) return { schema, sent }
  const toSent = (name: string) => sent.get(name) ?? name
  const rest = Object.fromEntries(Object.entries(schema).filter(([keyword]) => !withNames.includes(keyword)))
  const entries = Object.entries(properties).map(([name, value]) => [toSent(name), sent.has(name) ? withName(value, name) : value])
  const required = listed(schema, 'required').map((name) => toSent(String(name)))
  return { schema: { ...rest, properties: Object.fromEntries(entries), ...(required.length > 0 && { required }) }, sent }
}

/** A name for each name that is refused, unlike all others. */
function toSentNames(names: readonly string[]): Map<string, string> {
  const usedNames = new Set(names.filter((name) => accepted.test(name)))
  const sent = new Map<string, string>()
  for (const name of names.filter((candidate) => !accepted.test(candidate))) {
    const base = name.replace(/[^a-zA-Z0-9_.-]/g, '_').slice(0, maxLength) || '_'
    let unique = base
    for (let n = 2; usedNames.has(unique); n++) unique = `${base.slice(0, maxLength - `_${n}`.length)}_${n}`
    usedNames.add(unique)
    sent.set(name, unique)
  }
  return sent
}

/** The texts of a tool use the tool's own name, so the model is told. */
function withName(property: unknown, name: string): unknown {
  if (!isObject(property)) return property
  const { description } = property
  return { ...property, description: [JSON.stringify(name), description].filter((text) => typeof text === 'string').join(': ') }
}

/** Arguments that are no object stay as they are: the loop reports such arguments to the model. */
function renameIn<Call extends { arguments: string }>(call: Call, names: ReadonlyMap<string, string> | undefined): Call {
  const input = names && names.size > 0 ? parseArguments(call.arguments) : undefined
  if (!input) return call
  const entries = Object.entries(input).map(([name, value]): [string, JsonObject[string]] => [names?.get(name) ?? name, value])
  return { ...call, arguments: JSON.stringify(Object.fromEntries(entries)) }
}

/** Parses the arguments of a tool call; undefined unless the text is a JSON object within the depth limit, which can be sent to models again. */
export function parseArguments(text: string): JsonObject | undefined {
  const value = parseJson(text)
  return isObject(value) && !isDeeper(value, maxJsonDepth) ? (value as JsonObject) : undefined
}
