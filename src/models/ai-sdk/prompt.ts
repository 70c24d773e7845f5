import type { LanguageModelV4Message, LanguageModelV4Prompt, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { AssistantMessage, JsonValue, Message, ToolMessage, UserMessage, MessageFile } from '../../agent/messages.ts'
import { isDemand, type ModelRequest } from '../../agent/model.ts'
import { isBlank, parseArguments } from '../fit-messages.ts'
import { toCarrier, type VendorPart } from './kept-parts.ts'

type AssistantContent = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']

/** The model that made a message, or is asked. */
export interface ModelIdentity {
  provider: string
  model: string
}

/** A model that is asked, and whether its provider reads marks for the prompt cache. */
type PromptReader = ModelIdentity & { marksCache?: boolean }

/** Converts a request to a prompt of the AI SDK. Signed parts are sent only to the model that signed them. */
export function toPrompt(identity: PromptReader, request: ModelRequest): LanguageModelV4Prompt {
  const system: LanguageModelV4Prompt = request.system === '' ? [] : [{ role: 'system', content: request.system }]
  const messages = request.messages.map((message) => toMessage(identity, message))
  // Providers reject messages without content, such as an answer stopped before its first word.
  const prompt = [...system, ...joinResults(messages.filter(hasContent))]
  return identity.marksCache === true ? withMarks(prompt) : prompt
}

/** The marks of both providers: each package reads its own. */
const mark: SharedV4ProviderOptions = { anthropic: { cacheControl: { type: 'ephemeral' } }, bedrock: { cachePoint: { type: 'default' } } }

/** Marks the end of the system prompt, which later runs have too, and the end of the prompt, which the next call of the run begins with. */
function withMarks(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  return prompt.map((message, at) =>
    message.role === 'system' || at === prompt.length - 1 ? { ...message, providerOptions: mark } : message,
  )
}

/** Reasoning that led to nothing is not content: providers want what follows. */
function hasContent({ role, content }: LanguageModelV4Message): boolean {
  return role === 'assistant' ? content.some(({ type }) => type !== 'reasoning') : content.length > 0
}

/** Joins the results of one step in one message: Gemini wants as many results in a message as there are calls in the message before. */
function joinResults(messages: readonly LanguageModelV4Message[]): LanguageModelV4Message[] {
  const joined: LanguageModelV4Message[] = []
  for (const message of messages) {
    const last = joined.at(-1)
    if (message.role === 'tool' && last?.role === 'tool')
      joined[joined.length - 1] = { ...last, content: [...last.content, ...message.content] }
    else joined.push(message)
  }
  return joined
}

/**
 * Whether a model that signs its thoughts may think now. Claude refuses to think where a call is demanded, and in the middle of a turn whose
 * last step begins without thoughts of its own, such as a step of another model.
 */
export function mayThink(identity: ModelIdentity, { messages, options }: ModelRequest): boolean {
  if (isDemand(options?.toolChoice)) return false
  const last = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1).findLast(({ role }) => role === 'assistant')
  if (!last) return true
  const [first] = toMessage(identity, last).content
  return typeof first === 'object' && first.type === 'reasoning'
}

function toMessage(identity: ModelIdentity, message: Message): LanguageModelV4Message {
  if (message.role === 'user') return toUserMessage(message)
  if (message.role === 'tool') return toToolMessage(message)
  const parts = message.vendor && isBy(identity, message.vendor) ? fittingParts(message, message.vendor.data) : undefined
  return { role: 'assistant', content: parts ? toSignedContent(message, parts) : toPlainContent(message) }
}

/** Data from before the model was recorded counts by its provider. */
function isBy({ provider, model }: ModelIdentity, vendor: NonNullable<AssistantMessage['vendor']>): boolean {
  return vendor.provider === provider && (vendor.model ?? model) === model
}

function toUserMessage({ text, images = [], files = [] }: UserMessage): LanguageModelV4Message {
  const media = [...images.map(toFile), ...files.map((file) => ({ ...toFile(file), filename: file.name }))]
  return { role: 'user', content: isBlank(text) ? media : [{ type: 'text', text }, ...media] }
}

function toFile({ mediaType, data }: { mediaType: string; data: string }) {
  return { type: 'file' as const, mediaType, data: { type: 'data' as const, data } }
}

function toToolMessage({ callId, name, text, isError, images = [] }: ToolMessage): LanguageModelV4Message {
  const pictures = images.map(toFile)
  // The SDK has no error type for content with images.
  const output =
    pictures.length > 0
      ? { type: 'content' as const, value: [{ type: 'text' as const, text }, ...pictures] }
      : { type: isError ? ('error-text' as const) : ('text' as const), value: text }
  return { role: 'tool', content: [{ type: 'tool-result', toolCallId: callId, toolName: name, output }] }
}

function toPlainContent({ text, toolCalls }: AssistantMessage): AssistantContent {
  return [...(isBlank(text) ? [] : [{ type: 'text' as const, text }]), ...toolCalls.map(toCall)]
}

function toCall(call: AssistantMessage['toolCalls'][number]) {
  return { type: 'tool-call' as const, toolCallId: call.id, toolName: call.name, input: parseArguments(call.arguments) ?? {} }
}

/** Returns the parts, unless the message has changed: a signature is valid only for the signed text. */
function fittingParts(message: AssistantMessage, data: JsonValue): VendorPart[] | undefined {
  if (!Array.isArray(data)) return undefined
  const parts = data as unknown as VendorPart[]
  const length = parts.reduce((sum, part) => sum + (part.type === 'text' ? part.length : 0), 0)
  const calls = parts.filter((part) => part.type === 'call').length
  return length === message.text.length && calls === message.toolCalls.length ? parts : undefined
}

function toProviderCall({ id, name, input }: Extract<VendorPart, { type: 'provider-call' }>) {
  return { type: 'tool-call' as const, toolCallId: id, toolName: name, input, providerExecuted: true }
}

function toProviderResult({ id, name, output, isError }: Extract<VendorPart, { type: 'provider-result' }>) {
  const type = isError ? ('error-json' as const) : ('json' as const)
  return { type: 'tool-result' as const, toolCallId: id, toolName: name, output: { type, value: output } }
}

/** The content of a reply that goes on, as the model sent it. */
export function toPausedContent(text: string, parts: VendorPart[]): LanguageModelV4Message {
  return { role: 'assistant', content: toSignedContent({ role: 'assistant', text, toolCalls: [] }, parts) }
}

function toSignedContent(message: AssistantMessage, parts: VendorPart[]): AssistantContent {
  let at = 0
  const calls = message.toolCalls.values()
  return parts.flatMap((part): AssistantContent => {
    const providerOptions = part.options
    if (part.type === 'reasoning') return [{ type: 'reasoning', text: part.text, providerOptions }]
    if (part.type === 'summary') return [{ type: 'text', text: part.text, providerOptions }]
    if (part.type === 'item') return [toCarrier(part.item)]
    if (part.type === 'provider-call') return [{ ...toProviderCall(part), providerOptions }]
    if (part.type === 'provider-result') return [{ ...toProviderResult(part), providerOptions }]
    if (part.type === 'call') return [...calls.take(1)].map((call) => ({ ...toCall(call), providerOptions }))
    const text = message.text.slice(at, (at += part.length))
    return isBlank(text) ? [] : [{ type: 'text', text, providerOptions }]
  })
}

/** What Bedrock demands of files: names of few characters, each once in a request, and a text beside a document. */

/** Bedrock accepts 200 characters; the rest is for a number. */
const maxName = 190

export function withBedrockFiles(messages: readonly Message[]): readonly Message[] {
  if (!messages.some((message) => message.role === 'user' && message.files)) return messages
  const usedNames = new Set<string>()
  return messages.map((message) => (message.role === 'user' && message.files ? toNamed(message, message.files, usedNames) : message))
}

function toNamed(message: UserMessage, files: readonly MessageFile[], usedNames: Set<string>): UserMessage {
  const renamedFiles = files.map((file) => ({ ...file, name: toUnique(toPlain(file.name), usedNames) }))
  const text = isBlank(message.text) ? `The user sent: ${renamedFiles.map(({ name }) => name).join(', ')}.` : message.text
  return { ...message, text, files: renamedFiles }
}

/** The name without its ending, which the package would cut at the first full stop. */
function toPlain(name: string): string {
  const letters = name
    .replace(/\.[^.]*$/, '')
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
  const plain = letters.replace(/[^a-zA-Z0-9 ()[\]-]+/g, '-').replace(/ {2,}/g, ' ')
  return plain.slice(0, maxName).replace(/^[ -]+|[ -]+$/g, '') || 'document'
}

function toUnique(name: string, usedNames: Set<string>): string {
  let unique = name
  for (let n = 2; usedNames.has(unique.toLowerCase()); n++) unique = `${name} (${n})`
  usedNames.add(unique.toLowerCase())
  return unique
}
