import type { Message, MessageFile, UserMessage, ToolMessage, JsonObject, JsonSchema } from '../agent/messages.ts'
import type { Model, ModelRequest, ToolOffer, ModelReply } from '../agent/model.ts'
import { filesNote, imagesNote, withNotes, withoutImages as withoutResultImages } from '../agent/history.ts'
import { isObject, isDeeper, maxJsonDepth, parseJson } from '../json/shape.ts'
import { listed, named } from '../json/schema/schema-nodes.ts'
import { toToolSchema } from './tool-schema.ts'

/** Fits requests to models: images, documents, audio and videos for models that do not take them, and names of properties that a model accepts. */

type Senses = Pick<Model, 'seesImages' | 'readsFiles'>

/**
 * What a model would have to do for the question itself, such as `see images`: such a part cannot be left out without changing the question.
 * Undefined for a request that the model can answer.
 */
export function unseenIn({ messages }: ModelRequest, model: Senses): string | undefined {
  for (const message of messages) {
    if (message.role !== 'user') continue
    if (!model.seesImages && message.images?.some((image) => !image.earlier)) return 'see images'
    const file = message.files?.find((candidate) => !candidate.isEarlier && candidate.text === undefined && !reads(model, candidate))
    if (file) return taskOf(file.mediaType)
  }
  return undefined
}

function taskOf(mediaType: string): string {
  if (mediaType.startsWith('audio/')) return 'hear audio'
  return mediaType.startsWith('video/') ? 'watch videos' : `read files of the type ${mediaType}`
}

function reads(model: Senses, { mediaType }: MessageFile): boolean {
  return model.readsFiles?.(mediaType) === true
}

/**
 * Replaces what the model does not take: documents of the question by their text, images of tool results and all that is of earlier turns by
 * notes. A request without such parts is returned unchanged.
 */
export function withoutUnseen(request: ModelRequest, model: Senses): ModelRequest {
  const isUnseen = (message: Message): boolean =>
    (message.role !== 'assistant' && !model.seesImages && (message.images?.length ?? 0) > 0) ||
    (message.role === 'user' && (message.files?.some((file) => !reads(model, file)) ?? false))
  if (!request.messages.some(isUnseen)) return request
  return { ...request, messages: request.messages.map((message) => (isUnseen(message) ? toSeen(message, model) : message)) }
}

function toSeen(message: Message, model: Senses): Message {
  if (message.role === 'tool') return withoutResultImages(message)
  if (message.role !== 'user') return message
  const { images = [], files = [], ...rest } = message
  const unread = files.filter((file) => !reads(model, file))
  const texts = unread.flatMap(({ text }) => (text === undefined ? [] : [text]))
  const names = unread.flatMap(({ text, name }) => (text === undefined ? [name] : []))
  const hiddenNames = model.seesImages ? [] : images.map((image) => image.earlier?.name ?? 'an image')
  const readFiles = files.filter((file) => reads(model, file))
  const seen: UserMessage = { ...rest, text: withNotes(...withText(texts, rest.text), imagesNote(hiddenNames), filesNote(names)) }
  if (model.seesImages && images.length > 0) seen.images = images
  if (readFiles.length > 0) seen.files = readFiles
  return seen
}

/** The texts of documents stand before the question, as those of context files do. */
function withText(texts: readonly string[], question: string): [string, ...string[]] {
  const [first, ...others] = [...texts, question]
  return [first ?? '', ...others]
}

/** Requests in which the model may call nothing, such as the last of a run. */

/**
 * Offers the tools that the model may not use now, with the choice `none`, so that the request begins as earlier requests and hits the
 * prompt cache. `hasFormat` tells whether the schema of the answer is enforced beside such tools; a schema that only goes without tools
 * wins.
 */
export function withIdleTools(request: ModelRequest, hasFormat: (tools: readonly ToolOffer[]) => boolean): ModelRequest {
  const { idleTools = [], tools, options } = request
  const losesFormat = hasFormat([]) && !hasFormat(idleTools)
  if (tools.length > 0 || idleTools.length === 0 || losesFormat) return request
  return { ...request, tools: idleTools, options: { ...options, toolChoice: 'none' } }
}

/**
 * Calls and results as text, for providers that take calls in messages beside tools only. Without this, Claude would refuse the request, and
 * the package for Bedrock would leave the results out.
 */
export function withoutCalls(messages: readonly Message[]): Message[] {
  return messages.map((message): Message => {
    if (message.role === 'tool') return toText(message)
    if (message.role !== 'assistant' || message.toolCalls.length === 0) return message
    const calls = message.toolCalls.map(({ name, arguments: input }) => `[Call of the tool ${name}: ${input}]`)
    return { role: 'assistant', text: [message.text, ...calls].join('\n').trim(), toolCalls: [] }
  })
}

/** The label attributes the text to the tool, so that the model does not take the text for words of the user. */
function toText({ name, text, images }: ToolMessage): Message {
  return { role: 'user', text: `[Output of the tool ${name}, not a message of the user:]\n${text}`, ...(images && { images: [...images] }) }
}

const visible = /\S/

/** True for a text of white space only. Providers refuse such a text in a message, and nobody can read such an answer. */
export function isBlank(text: string): boolean {
  return !visible.test(text)
}

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
