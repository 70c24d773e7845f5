import type { ModelUsage } from '../../agent/model.ts'
import { toTokenCount } from '../failures.ts'

/** A chunk of a stream, or a whole completion of a server that does not stream. Nothing in it is checked yet. */
export interface WireChunk {
  choices?: WireChoice[] | null
  usage?: WireUsage | null
  /** Groq's name for fields of its own. */
  x_groq?: { usage?: WireUsage | null } | null
  error?: unknown
  /** Addresses of sources, as Perplexity names them. */
  citations?: unknown
  /** Sources with titles, as Perplexity names them. */
  search_results?: unknown
}

export interface WireChoice {
  delta?: WireMessage | null
  /** In place of `delta` in a whole completion. */
  message?: WireMessage | null
  finish_reason?: string | null
  /** Moonshot sends the usage here. */
  usage?: WireUsage | null
}

export interface WireMessage {
  content?: string | WirePart[] | null
  refusal?: string | null
  reasoning_content?: string | null
  reasoning?: string | null
  /** OpenRouter's reasoning, in pieces of several forms. */
  reasoning_details?: unknown
  tool_calls?: WireCall[] | null
  annotations?: unknown
  /** Pictures that the model made, as OpenRouter sends them. */
  images?: unknown
  /** Speech that the model made, in pieces. */
  audio?: unknown
}

export interface WirePart {
  type: string
  text?: string
  thinking?: { text?: string }[]
}

/** A fragment of a tool call, as sent by servers. */
export interface WireCall {
  index?: number | null
  id?: string | null
  function?: { name?: string | null; arguments?: string | object | null } | null
  /** Data that the server wants back with the call, such as Google's thought signature. */
  extra_content?: unknown
}

/** The fields that have no effect on a reply when they are empty, beside `content` and `reasoning_content`. */
const roleField = 'role'

/**
 * The text and its field in a chunk with a text and nothing else; undefined for any other chunk. A field of the message counts as empty when it is
 * null, an empty text or an empty list.
 */
export function onlyTextOf({ choices, usage, x_groq: groq, error }: WireChunk): OnlyText | undefined {
  const choice = choices?.[0]
  if (!choice?.delta || choices?.length !== 1 || usage || groq || error || choice.finish_reason || choice.usage) return undefined
  let only: OnlyText | undefined
  for (const [field, value] of Object.entries(choice.delta)) {
    if (field === roleField || isEmpty(value)) continue
    const isText = typeof value === 'string' && (field === 'content' || field === 'reasoning_content' || field === 'reasoning')
    if (!isText || only) return undefined
    only = { field, text: value }
  }
  return only
}

export interface OnlyText {
  field: 'content' | 'reasoning_content' | 'reasoning'
  text: string
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
}

/** Characters that end or change a JSON string. */
// oxlint-disable-next-line no-control-regex
const special = /["\\\u0000-\u001f]/

/**
 * Reads chunks that differ from an earlier chunk only in their text. Servers send the same JSON for each token except for the text, and
 * parsing the whole chunk costs ten times as much as cutting the text out. Between the same characters, a text without quotes, escapes and
 * control characters makes the same object with another text.
 */
export class TextChunk {
  private readonly before: string
  private readonly after: string

  private constructor(before: string, after: string) {
    this.before = before
    this.after = after
  }

  /** The form of a chunk whose only content is `text` in the field `name`; undefined when the text cannot be located safely. */
  static of(data: string, text: string, name = 'content'): TextChunk | undefined {
    const field = `"${name}"`
    const opening = `${field}:"`
    const at = data.indexOf(field)
    const start = at + opening.length
    const isOnly = at >= 0 && !data.includes(field, start)
    if (!isOnly || special.test(text) || !data.startsWith(`${opening}${text}"`, at)) return undefined
    return new TextChunk(data.slice(0, start), data.slice(start + text.length))
  }

  /** The text of a chunk of this form; undefined for any other chunk. */
  textOf(data: string): string | undefined {
    const { before, after } = this
    if (data.length < before.length + after.length || !data.startsWith(before) || !data.endsWith(after)) return undefined
    const text = data.slice(before.length, data.length - after.length)
    return special.test(text) ? undefined : text
  }
}

/** Token counts in the forms of the servers. */
export interface WireUsage {
  prompt_tokens?: number
  completion_tokens?: number
  total_tokens?: number
  prompt_tokens_details?: {
    cached_tokens?: number
    cache_write_tokens?: number
    cache_creation_tokens?: number
    cache_creation_input_tokens?: number
  } | null
  completion_tokens_details?: { reasoning_tokens?: number } | null
  /** Moonshot's place for the tokens of the cache. */
  cached_tokens?: number
  /** DeepSeek's place for the tokens of the cache. */
  prompt_cache_hit_tokens?: number
  cache_write_tokens?: number
  cache_creation_input_tokens?: number
}

export function toUsage(model: string, usage: WireUsage = {}): ModelUsage {
  const { prompt_tokens_details: details } = usage
  const input = toTokenCount(usage.prompt_tokens)
  const { output, reasoning } = toOutput(usage, input)
  const cacheWrite = toTokenCount(
    details?.cache_write_tokens ??
      details?.cache_creation_tokens ??
      details?.cache_creation_input_tokens ??
      usage.cache_write_tokens ??
      usage.cache_creation_input_tokens,
  )
  return {
    model,
    input,
    output,
    cachedInput: toTokenCount(details?.cached_tokens ?? usage.cached_tokens ?? usage.prompt_cache_hit_tokens),
    ...(cacheWrite > 0 && { cacheWrite }),
    reasoning,
  }
}

/** xAI and Google count the reasoning beside the completion, which only the total shows. Google does not state the reasoning. */
function toOutput({ completion_tokens, total_tokens, completion_tokens_details: details }: WireUsage, input: number) {
  const completion = toTokenCount(completion_tokens)
  const reasoning = toTokenCount(details?.reasoning_tokens)
  const beside = Math.max(0, toTokenCount(total_tokens) - input - completion)
  if (reasoning > 0) return { output: beside === reasoning ? completion + reasoning : completion, reasoning }
  return { output: completion + beside, reasoning: beside }
}
