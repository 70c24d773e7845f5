import type { WireUsage } from '../usage.ts'

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
