import type { Artifact } from '../agent/artifact.ts'
import type { Message } from '../agent/messages.ts'

/** What a session keeps of a message beside its text. */
export interface MessageData {
  /** ai: its run. human: the run that brought it, where it brought several, or images. */
  requestId?: string
  model?: string
  /** ai: names of the data filter hints of its run, where it had some. */
  hints?: string[]
  finishReason?: string
  usage?: UsageEntry[]
  steps?: AnswerStep[]
  reasoning?: string[]
  planning?: string[]
  /** ai: what the model and its tools said, when that is more than the text. */
  transcript?: Message[]
  /** ai: files that its tools made, in the order in which they were made. */
  artifacts?: Artifact[]
  /** human: pictures, whose bytes are in the store, and files, by name. */
  images?: ImageReference[]
  contextFiles?: string[]
  /** human: system messages that the caller brought with it. */
  system?: string
}

/** A picture of a message, by what it was called; its bytes are kept under the run that brought it and its place in the list. */
export interface ImageReference {
  /** A file's name, or `image-1.png`. */
  name: string
  /** MIME type of what was given; what is kept may be another. */
  mediaType: string
}

/** What a run used: tokens or USD per model, seconds per tool. */
export interface UsageEntry {
  costAttribute: string
  usage: number
  unit: 'tokens' | 'USD' | 'seconds'
  details?: { input: number; output: number; cached_input: number; reasoning: number }
}

/** One step of an answer, as callers see it. */
export interface AnswerStep {
  tool: string
  tool_input: unknown
  log: string
  type: string
  output: unknown
  status: 'success' | 'error'
  /** Seconds. */
  execution_time: number
  /** ISO 8601, UTC. */
  started_at: string
  /** The sub-agent that took it; absent where it was the agent itself. */
  sub_agent?: string
}
