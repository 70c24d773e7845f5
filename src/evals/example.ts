import type { Decision } from '../agent/approval.ts'
import type { StepContainment } from '../agent/events.ts'
import type { Artifact, JsonObject, JsonSchema, JsonValue, ModelSource, Taint, TaintSource } from '../agent/messages.ts'
import type { ModelOptions, ModelReply, ModelUsage } from '../agent/model.ts'
import type { ClientTool } from '../agent/run-tool.ts'
import type { DataFilter } from '../agent/tool.ts'
import type { RecalledMemories } from '../memory/recall.ts'
import type { CompactLog } from '../runs/log/compact-log.ts'
import type { ChatMessage } from '../runs/run.ts'
import type { FileReference, ImageReference, MessageData } from '../sessions/message.ts'
import type { SubAgent } from '../sub-agents/sub-agent-store.ts'

/** A question with everything that a replay of its answer needs. Made from a run, or written by hand in the same shape. */
export interface Example {
  id: string
  name: string
  input: ExampleInput
  /** The input of the model before the question, in order; empty for a run with data filters. */
  before: Before[]
  /** The tool calls, in the order of their start. */
  recording: RecordedCall[]
  /** The replies of all agents, in the order of their end. Empty for an example that is written by hand without replies. */
  model_replies: RecordedReply[]
  /** Values for scorers, by the field that a scorer reads. */
  expected?: JsonObject
  tags: string[]
  /** Null for an example that is written by hand, and for a detached one. */
  source: ExampleSource | null
  /** Epoch milliseconds of the answer: what the clock shows in a replay. */
  time: number
  /** Present where a part of what the model was shown is not known. */
  reduced?: true
  /** Present for an example of a run that had sub-agents. */
  sub_agents?: readonly SubAgent[]
  /** Present for an example of a run: what proves a replay byte by byte. */
  original?: Original
  /** Present where pictures or files were shown, with the hashes of their bytes. */
  media?: ExampleMedia
}

export interface ExampleInput {
  /** The question last, with the texts of its files. */
  messages: ChatMessage[]
  data_filter_hints: DataFilter[]
  continuation?: ChatMessage[]
  instructions?: string
  response_schema?: JsonSchema
  client_tools?: ClientTool[]
  model_options?: ModelOptions
  /** Pictures of the question, and files that the model reads itself; the bytes are media of the example. */
  images?: ImageReference[]
  files?: FileReference[]
}

export type Before =
  /** A message of the session. */
  | { kind: 'message'; role: 'human' | 'ai'; content: string; data?: MessageData }
  /** The summary of the turns before the window. */
  | { kind: 'summary'; text: string; system?: string; hints?: string[]; taint?: Taint }
  | ({ kind: 'memories' } & RecalledMemories)

export interface RecordedCall {
  /** The number of the call, from 1, in the order of the starts. */
  n: number
  /** The number of the call in which the agent runs; null for the run's own agent. */
  parent: number | null
  tool: string
  /** The model's arguments. A decision may have changed the arguments that were used. */
  tool_input: JsonValue
  output: JsonValue
  /** `unknown`: the outcome was never known, so the call answers no other call. */
  status: 'success' | 'error' | 'unknown'
  effect: 'read' | 'write'
  /** Present on a call that waited for a person or for the client. */
  decision?: RecordedDecision
  /** Questions of a server to the caller during the call, in rounds. */
  questions?: RecordedQuestion[][]
  /** Files of the call, without their bytes. */
  artifacts?: Artifact[]
  /** Names of the files that the model was shown as pictures; absent for none. */
  pictures?: string[]
  /** Present in the recording of a run: the other fields of the step. */
  step?: RecordedStep
}

export interface RecordedDecision {
  by: 'caller' | 'role' | 'client'
  decision: Decision['decision']
  /** The arguments that a person set. */
  input?: JsonObject
  reason?: string
  /** Origins of text of strangers, on a call held by containment. */
  sources?: readonly TaintSource[]
}

export interface RecordedQuestion {
  name: string
  input: JsonObject
  decision?: Decision['decision']
  answer?: JsonObject
}

export interface RecordedStep {
  id: string
  type: 'tool_call' | 'sub_agent_call'
  startedAt: number
  durationMs: number
  log: string
  subAgent?: string
  containment?: StepContainment
}

export interface RecordedReply {
  /** The number of the reply, from 1, in the order of the ends. */
  n: number
  /** As `RecordedCall.parent`. */
  parent: number | null
  text: string
  calls: RecordedRequest[]
  reasoning?: string
  finish: ModelReply['finish']
  usage: ModelUsage
  sources?: ModelSource[]
  artifacts?: Artifact[]
  /** Present in the recording of a run: the numbers of its events and the times of the call. */
  at?: ReplyPlace
}

export interface ReplyPlace {
  /** Number of events before the call, and before its end. */
  from: number
  to: number
  startedAt: number
  endedAt: number
}

export interface RecordedRequest {
  /** The id of the call in the recording of a run. */
  id?: string
  name: string
  /** JSON text as the model wrote it. */
  arguments: string
}

export interface ExampleSource {
  request_id: string
  config_version: string
}

/** The events of the recorded run, without the values that the recorded calls hold. */
export interface Original {
  /** Key of the session, which names the folder of files. */
  session: string
  events: OriginalEvent[]
}

export type OriginalEvent =
  | CompactLog['events'][number]
  /** The start and the end of a recorded call. */
  | { type: 'call_start' | 'call_end'; n: number }

/** SHA-256 hashes of bytes, in hex. */
export interface ExampleMedia {
  /** Images of questions, by the request id of an earlier question, and `''` for the question of the example. */
  images: Record<string, { mediaType: string; sha256: string }[]>
  /** Files of questions, and pictures of tool results before the question, by `imageKey` with the same request ids. */
  files: Record<string, string>
}

/** Bytes of an example without its media. */
export const maxExampleBytes = 4 * 1024 * 1024

export function bytesOf(example: Example): number {
  return Buffer.byteLength(JSON.stringify(example))
}

/** The fields of an example that a person writes; everything else has a default. */
export type ExampleDraft = Pick<Example, 'name'> & {
  input: Pick<ExampleInput, 'messages'> & Partial<ExampleInput>
  before?: Before[]
  recording?: Omit<RecordedCall, 'n' | 'step'>[]
  model_replies?: (Pick<RecordedReply, 'text'> & Partial<RecordedReply>)[]
  expected?: JsonObject
  tags?: string[]
}

const noUsage: ModelUsage = { model: 'recorded', input: 0, output: 0, cachedInput: 0, reasoning: 0 }

/** An example that is written by hand, in the shape of one that is made from a run. */
export function toExample(draft: ExampleDraft, { id, time }: Pick<Example, 'id' | 'time'>): Example {
  const { name, input, before = [], recording = [], model_replies: replies = [], expected, tags = [] } = draft
  return {
    id,
    name,
    input: { data_filter_hints: [], ...input },
    before,
    recording: recording.map((call, index) => ({ ...call, n: index + 1 })),
    model_replies: replies.map((reply, index) => {
      const { calls = [] } = reply
      return { parent: null, finish: calls.length > 0 ? 'tool_calls' : 'stop', usage: noUsage, ...reply, calls, n: index + 1 }
    }),
    ...(expected && { expected }),
    tags,
    source: null,
    time,
  }
}
