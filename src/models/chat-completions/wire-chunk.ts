import type { WireCall } from './calls.ts'
import type { WireUsage } from './usage.ts'

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
