import type { Message, MessageFile } from '../agent/messages.ts'
import type { ModelRequest, ModelUsage } from '../agent/model.ts'
import { costOf, type ModelPrices } from '../configuration/model-schema.ts'
import { nanoPerUsd } from './accounts.ts'
import type { Amount } from './budget.ts'

/** Tokens of an image, whatever its size. */
const imageTokens = 2000
/**
 * Prose of common scripts and code have at most a token in this number of bytes. Digits, keys, base64, rare emoji and rare scripts have up to one
 * token per byte, which is the most of all: such a text may cost up to twice its estimate.
 */
const bytesPerToken = 2
/** Bytes of the body around the texts of a message or a tool: roles, names of fields, brackets. */
const wrapperBytes = 24

/** The tokens that a provider counted for the newest call of a transcript, by the first message of the transcript. */
const counted = new WeakMap<Message, { input: number; messages: number; frame: number }>()

/** Keeps the tokens that the provider counted, for the estimate of the next call of the same transcript. */
export function keepCount(request: ModelRequest, usage: ModelUsage): void {
  const first = request.messages[0]
  if (first) counted.set(first, { input: usage.input, messages: request.messages.length, frame: bytesOfFrame(request) })
}

/**
 * The tokens of a request, at most: those that the provider counted for the call before and half of the bytes that were added, or half of all
 * bytes. An image has 2,000.
 */
export function inputTokens(request: ModelRequest): number {
  const { messages } = request
  const frame = bytesOfFrame(request)
  const before = messages[0] && counted.get(messages[0])
  if (!before || before.messages > messages.length) return tokensOf(frame, messages)
  const grown = before.input + tokensOf(Math.max(0, frame - before.frame), messages.slice(before.messages))
  return frame < before.frame ? Math.min(grown, tokensOf(frame, messages)) : grown
}

function tokensOf(frame: number, messages: readonly Message[]): number {
  const bytes = messages.reduce((sum, message) => sum + bytesOf(message), frame)
  return Math.ceil(bytes / bytesPerToken) + messages.reduce((sum, message) => sum + imagesOf(message), 0) * imageTokens
}

/** Bytes beside the messages: the system prompt, the tools and the schema of the answer. */
function bytesOfFrame({ system, tools, idleTools = [], responseSchema }: ModelRequest): number {
  const offers = [...tools, ...idleTools].reduce(
    (sum, { name, description, schema }) => sum + wrapperBytes + name.length + Buffer.byteLength(description) + bytesOfJson(schema),
    0,
  )
  return Buffer.byteLength(system) + offers + (responseSchema ? bytesOfJson(responseSchema) : 0)
}

/** The same schemas and data are sent with each call of a run. */
const jsonBytes = new WeakMap<object, number>()

function bytesOfJson(value: object): number {
  let bytes = jsonBytes.get(value)
  if (bytes === undefined) jsonBytes.set(value, (bytes = Buffer.byteLength(JSON.stringify(value))))
  return bytes
}

/** A file that the model reads itself has about a token in this number of base64 characters: 80,000 in a megabyte of PDF. */
const charactersPerFileToken = 16

function bytesOf(message: Message): number {
  const text = wrapperBytes + Buffer.byteLength(message.text)
  if (message.role === 'assistant') {
    const calls = message.toolCalls.reduce(
      (sum, { name, arguments: input }) => sum + wrapperBytes + name.length + Buffer.byteLength(input),
      0,
    )
    return text + calls + Buffer.byteLength(message.reasoning ?? '') + (message.vendor ? bytesOfJson(message.vendor) : 0)
  }
  return text + filesOf(message).reduce((sum, { data }) => sum + (data.length * bytesPerToken) / charactersPerFileToken, 0)
}

function filesOf(message: Message): readonly MessageFile[] {
  return message.role === 'user' ? (message.files ?? []) : []
}

/** Images, and pages of files, which a model sees as images whatever the number of their bytes. */
function imagesOf(message: Message): number {
  const pages = filesOf(message).reduce((sum, file) => sum + (file.pages ?? 0), 0)
  return pages + (message.role === 'assistant' ? 0 : (message.images?.length ?? 0))
}

/** What a model call costs. A model without a price costs tokens alone. */
export function amountOf(usage: Pick<ModelUsage, 'input' | 'output'> & Partial<ModelUsage>, prices: ModelPrices | undefined): Amount {
  const { input, output, model = '', cachedInput = 0, reasoning = 0, cacheWrite = 0 } = usage
  const usd = prices ? costOf({ model, input, output, cachedInput, cacheWrite, reasoning }, prices) : 0
  // Rounded first: sums of binary fractions are a little above the decimal ones.
  return { nanoUsd: Math.ceil(Number((usd * nanoPerUsd).toPrecision(15))), tokens: input + output }
}

/** The greatest cost of a call with these tokens: the provider may write the input to the cache, at a higher price. */
export function mostOf(input: number, output: number, prices: ModelPrices | undefined): Amount {
  const plain = amountOf({ input, output }, prices)
  const written = amountOf({ input, output, cacheWrite: input }, prices)
  return { nanoUsd: Math.max(plain.nanoUsd, written.nanoUsd), tokens: plain.tokens }
}

/** The most tokens of output that fit into `left` beside the input. */
export function outputWithin(left: Partial<Amount>, input: number, prices: ModelPrices | undefined): number {
  const byTokens = left.tokens === undefined ? Infinity : left.tokens - input
  if (left.nanoUsd === undefined) return Math.floor(byTokens)
  const base = mostOf(input, 0, prices).nanoUsd
  const perMillion = mostOf(input, 1_000_000, prices).nanoUsd - base
  if (perMillion === 0) return base <= left.nanoUsd ? Math.floor(byTokens) : 0
  // One token less than fits, for the rounding up of each amount.
  const byPrice = ((left.nanoUsd - base) * 1_000_000) / perMillion - 1
  return Math.floor(Math.min(byTokens, byPrice))
}

/** The tokens of texts for an embedding model, at most. */
export function textTokens(texts: readonly string[]): number {
  return Math.ceil(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / bytesPerToken) + texts.length
}
