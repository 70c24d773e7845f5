import type { AssistantMessage, Message, ToolCall, ToolMessage, ToolImage } from './messages.ts'

/** The tool result of a call without a recorded result. */
export const outcomeUnknown = 'The outcome of this call is unknown: it may or may not have been done. It was not repeated.'

/** The transcript as a model is shown it: valid, with the newest pictures, and tool output within the budget. */
export function fitTranscript(messages: readonly Message[], budget = Infinity): readonly Message[] {
  return fitOutputs(fitImages(repair(messages)), budget)
}

/**
 * Returns a transcript that every provider accepts: each tool call has exactly one result, directly behind its message
 * and in the order of the calls. Results without a call and empty assistant messages are dropped; consecutive user
 * messages are kept. The input is not changed.
 */
export function repair(messages: readonly Message[]): Message[] {
  const repaired: Message[] = []
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]!
    if (message.role === 'tool') continue
    const hasCalls = message.role === 'assistant' && message.toolCalls.length > 0
    if (hasCalls || message.role === 'user' || message.text !== '') repaired.push(message)
    if (hasCalls) {
      repaired.push(...resultsOf(message, followingResults(messages, at + 1)))
    }
  }
  return repaired
}

function resultsOf(message: AssistantMessage, results: ReadonlyMap<string, ToolMessage>): ToolMessage[] {
  return message.toolCalls.map(({ id, name }) => results.get(id) ?? { role: 'tool', callId: id, name, text: outcomeUnknown, isError: true })
}

function followingResults(messages: readonly Message[], start: number): Map<string, ToolMessage> {
  const results = new Map<string, ToolMessage>()
  for (let at = start; at < messages.length; at++) {
    const message = messages[at]!
    if (message.role !== 'tool') break
    if (!results.has(message.callId)) results.set(message.callId, message)
  }
  return results
}

/** True for the instruction to answer again. */
export function isRepair(message: Message | undefined): boolean {
  return message?.role === 'user' && message.instruction === 'repair'
}

/** True for an instruction of a plan. */
export function isOfPlan(message: Message): boolean {
  return message.role === 'user' && message.instruction !== undefined && message.instruction !== 'repair'
}

/** A transcript without the answers that were repaired, for later turns of the session. */
export function withoutRepairs(messages: readonly Message[]): Message[] {
  return messages.filter((message, index) => !isRepair(message) && !(message.role === 'assistant' && isRepair(messages[index + 1])))
}

/** Calls without a result, in the order asked, of a transcript that ends in the middle of a turn. */
export function callsWithoutResult(messages: readonly Message[]): ToolCall[] {
  const last = messages.findLastIndex((message) => message.role === 'assistant')
  const message = messages[last]
  if (message?.role !== 'assistant') return []
  const following = messages.slice(last + 1)
  if (following.some(({ role }) => role === 'user')) return []
  const done = new Set(following.map((next) => (next.role === 'tool' ? next.callId : '')))
  return message.toolCalls.filter((call) => !done.has(call.id))
}

/** Average characters per token over human languages and the JSON of a transcript. */
export const charactersPerToken = 4

/** A cheap estimate in linear time: exact tokenizers are quadratic on some inputs. */
export function estimateTokens(message: Message): number {
  const calls =
    message.role === 'assistant' ? message.toolCalls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0) : 0
  const images = message.role === 'assistant' ? 0 : (message.images?.length ?? 0) * tokensPerImage
  const files = message.role === 'user' ? (message.files?.length ?? 0) * tokensPerFile : 0
  const vendor = message.role === 'assistant' && message.vendor ? vendorTokens(message.vendor) : 0
  return Math.ceil((message.text.length + calls) / charactersPerToken) + images + files + vendor + tokensPerMessage
}

/**
 * Limit of the tokens that the provider data of a message counts for. Encrypted reasoning is longer than the reasoning that a provider
 * counts, and must not push earlier turns out of the window.
 */
export const maxVendorTokens = 8000
/** Estimates by provider data: a transcript is counted before each model call. */
const vendorEstimates = new WeakMap<NonNullable<AssistantMessage['vendor']>, number>()

function vendorTokens(vendor: NonNullable<AssistantMessage['vendor']>): number {
  let tokens = vendorEstimates.get(vendor)
  if (tokens === undefined) {
    tokens = Math.min(maxVendorTokens, Math.ceil(JSON.stringify(vendor.data).length / charactersPerToken))
    vendorEstimates.set(vendor, tokens)
  }
  return tokens
}

export const tokensPerImage = 1000
/**
 * A document, audio or video. A flat number: files have limits of their own, and the size of a long document must not push
 * the turn of the document, and all turns before, out of the window.
 */
export const tokensPerFile = 1000
const tokensPerMessage = 4
/** Characters that remain of old tool output. Output is cut before whole turns are left out. */
const oldOutputCharacters = 400
/** Newest outputs of a run kept whole if the space suffices, in addition to outputs not yet seen by the model. */
const newestOutputs = 3
/** Characters that each of the newest outputs keeps, however many share the budget. */
const minOutputCharacters = 2000
/**
 * Cuts advance in steps of this many messages, so that several calls share the same prefix and hit the provider's
 * prompt cache.
 */
const stride = 8

export function totalTokens(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + estimateTokens(message), 0)
}

/** Shortens a tool message for a tight budget; returns other messages unchanged. */
export function cutOutput(message: Message): Message {
  if (message.role !== 'tool') return message
  const isLong = message.text.length > oldOutputCharacters
  const text = isLong ? `${message.text.slice(0, oldOutputCharacters).toWellFormed()}\n[old output, cut]` : message.text
  return isLong || message.images ? withoutImages({ ...message, text }) : message
}

export interface FittedTranscript {
  messages: Message[]
  /** Turns left out for lack of room, oldest first. */
  omitted: readonly Message[]
}

/**
 * Fits a transcript into `budget` tokens before a run: first cuts the tool output of earlier turns, then leaves out
 * whole earlier turns, oldest first. The last user message and everything behind it stay unchanged.
 */
export function fit(messages: readonly Message[], budget: number): FittedTranscript {
  if (totalTokens(messages) <= budget) return { messages: [...messages], omitted: [] }
  const lastUser = messages.findLastIndex((message) => message.role === 'user')
  const fitted = cutBefore(messages, lastUser, budget)
  let total = totalTokens(fitted)
  let start = 0
  while (total > budget && start < lastUser) {
    // Leave out a whole turn: from one user message to the next.
    do total -= estimateTokens(fitted[start++]!)
    while (start < lastUser && fitted[start]!.role !== 'user')
  }
  return { messages: fitted.slice(start), omitted: messages.slice(0, start) }
}

/**
 * Fits a transcript into `budget` tokens while a run grows: old tool output is cut first, then the newest outputs share
 * the remaining budget. Calls and results otherwise stay the same. Returns the same array when the transcript already
 * fits; the input is not changed.
 */
export function fitOutputs(messages: readonly Message[], budget: number): readonly Message[] {
  if (totalTokens(messages) <= budget) return messages
  const newest = beginOfNewest(messages)
  return shareRest(cutBefore(messages, newest, budget), newest, budget)
}

/** Cuts tool outputs before `end`, oldest first, in strides and only as far as needed. */
function cutBefore(messages: readonly Message[], end: number, budget: number): Message[] {
  const fitted = [...messages]
  let total = totalTokens(messages)
  for (let at = 0; at < end; at++) {
    if (at % stride === 0 && total <= budget) break
    const cut = cutOutput(messages[at]!)
    total -= estimateTokens(messages[at]!) - estimateTokens(cut)
    fitted[at] = cut
  }
  return fitted
}

/**
 * Index of the message that requested the oldest of the newest outputs, so that the outputs of one turn stay together.
 */
function beginOfNewest(messages: readonly Message[]): number {
  let outputs = 0
  for (let at = messages.length - 1; at >= 0; at--) {
    if (messages[at]!.role === 'tool') outputs++
    else if (outputs >= newestOutputs) return at
  }
  return 0
}

function shareRest(messages: Message[], start: number, budget: number): Message[] {
  const over = totalTokens(messages) - budget
  const outputs = messages.slice(start).filter((message) => message.role === 'tool')
  if (over <= 0 || outputs.length === 0) return messages
  const available = Math.max(0, totalTokens(outputs) - over) * charactersPerToken
  const characters = Math.max(minOutputCharacters, Math.floor(available / outputs.length))
  return messages.map((message, at) => {
    if (at < start || message.role !== 'tool' || message.text.length <= characters) return message
    const text = `${message.text.slice(0, characters).toWellFormed()}\n[cut: ${characters} of ${message.text.length} characters. Ask for a part of it.]`
    return { ...message, text }
  })
}

/** Selects the pictures in tool results that a model call shows. */

/** Pictures shown per result; the same limit as for one question. */
export const maxImagesPerResult = 5

/**
 * Pictures shown per model call. Beyond that the oldest `imageStride` are dropped at once: between two cuts the transcript
 * only grows at its end, so prompt caches hold.
 */
const maxShown = 8
const imageStride = 4
/** Base64 characters of results shown per model call. */
const maxShownCharacters = 10_000_000
/** Base64 characters of a model call, images and files of questions included. Claude refuses requests above 32 MB. */
const maxMediaCharacters = 30_000_000

/**
 * Drops the oldest pictures of results beyond the limits of a model call and adds a note that names each. Returns the
 * same array when all pictures are shown.
 */
export function fitImages(messages: readonly Message[]): readonly Message[] {
  const all = messages.flatMap((message) => (message.role === 'tool' ? (message.images ?? []) : []))
  if (all.length === 0) return messages
  const shownImages = new Set(
    newestOf(
      all.filter((image) => image.data !== ''),
      Math.min(maxShownCharacters, maxMediaCharacters - ofQuestions(messages)),
    ),
  )
  if (shownImages.size === all.length) return messages
  return messages.map((message) => (message.role === 'tool' ? keepImages(message, (image) => shownImages.has(image)) : message))
}

/** Base64 characters of the images and files of questions. */
function ofQuestions(messages: readonly Message[]): number {
  const media = messages.flatMap((message) => (message.role === 'user' ? [...(message.images ?? []), ...(message.files ?? [])] : []))
  return media.reduce((sum, { data }) => sum + data.length, 0)
}

function newestOf(images: readonly ToolImage[], maxCharacters: number): readonly ToolImage[] {
  const surplus = images.length - maxShown
  const newest = surplus > 0 ? images.slice(Math.ceil(surplus / imageStride) * imageStride) : [...images]
  let characters = newest.reduce((sum, image) => sum + image.data.length, 0)
  let start = 0
  while (characters > maxCharacters && start < newest.length - 1) characters -= newest[start++]!.data.length
  return newest.slice(start)
}

/** A result with only the pictures that pass; a note names the others. */
export function keepImages(message: ToolMessage, passes: (image: ToolImage) => boolean): ToolMessage {
  const { images = [], ...rest } = message
  const passing = images.filter(passes)
  if (passing.length === images.length) return message
  const names = images.filter((image) => !passes(image)).map(({ name }) => name)
  return { ...rest, text: withNotes(rest.text, imagesNote(names, 'result')), ...(passing.length > 0 && { images: passing }) }
}

/** A result for a model without vision, or for a tight budget. */
export function withoutImages(message: ToolMessage): ToolMessage {
  return keepImages(message, () => false)
}

/** A message as stored: the bytes of its pictures are stored separately. */
export function withoutImageBytes<M extends Message>(message: M): M {
  if (message.role !== 'tool' || !message.images) return message
  return { ...message, images: message.images.map((image) => ({ ...image, data: '' })) }
}

/** Notes in a message's text that stand for attachments which are no longer shown. */

export function withNotes(text: string, ...notes: (string | undefined)[]): string {
  return [text, ...notes].filter(Boolean).join('\n\n')
}

/** Undefined for none. */
export function imagesNote(names: readonly string[], container: 'message' | 'result' = 'message'): string | undefined {
  return names.length > 0 ? `[Images that came with this ${container}, not shown here: ${listOf(names)}]` : undefined
}

/** Undefined for none. */
export function filesNote(names: readonly string[]): string | undefined {
  return names.length > 0 ? `[Files that came with this message, not shown again: ${listOf(names)}]` : undefined
}

function listOf(names: readonly string[]): string {
  return names.map((name) => name.replace(/\s+/g, ' ')).join(', ')
}
