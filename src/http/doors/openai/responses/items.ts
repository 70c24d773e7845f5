import type { PendingCall } from '../../../../agent/approval.ts'
import type { LastEvent } from '../../../../runs/run.ts'
import type { Citation } from '../../../../sessions/message.ts'
import { toWebCitations, type UrlCitation } from '../../model-apis/output.ts'
import { toCallIds } from '../ids.ts'

/** Output items of a response. */

export type OutputItem = OutputMessage | FunctionCall | Reasoning

export interface OutputMessage {
  id: string
  type: 'message'
  role: 'assistant'
  status: 'in_progress' | 'completed' | 'incomplete'
  /** `commentary` is text before the final answer. */
  phase: 'commentary' | 'final_answer'
  content: OutputPart[]
}

export interface OutputPart {
  type: 'output_text'
  text: string
  annotations: Annotation[]
  logprobs: object[]
}

/** A call of a function tool, which the client runs. */
export interface FunctionCall {
  id: string
  type: 'function_call'
  status: 'in_progress' | 'completed'
  call_id: string
  name: string
  /** JSON. */
  arguments: string
}

/** A thought of the model. */
export interface Reasoning {
  id: string
  type: 'reasoning'
  status: 'in_progress' | 'completed'
  summary: { type: 'summary_text'; text: string }[]
}

/** A link in a text, or a passage of a document that says what the text says before `index`. */
export type Annotation =
  | ({ type: 'url_citation' } & UrlCitation)
  | { type: 'file_citation'; index: number; file_id: string; filename: string }

export function toPart(text: string, annotations: Annotation[] = []): OutputPart {
  return { type: 'output_text', text, annotations, logprobs: [] }
}

export function toLink(citation: UrlCitation): Annotation {
  return { type: 'url_citation', ...citation }
}

/** A web page is a link. The id of a document is that of an uploaded one, otherwise the path of the file. */
export function toAnnotation(citation: Citation): Annotation {
  const [web] = toWebCitations([citation])
  if (web) return toLink(web)
  const { file, documentId, answerEnd } = citation
  return { type: 'file_citation', index: answerEnd, file_id: documentId ?? file, filename: file }
}

/** `completed` for an answer that the model finished itself, and for calls of client tools alone. */
export function statusOf(end: LastEvent): 'completed' | 'incomplete' {
  if (end.type === 'interrupt') return end.calls.every(({ by }) => by === 'client') ? 'completed' : 'incomplete'
  return end.reason === 'stop' ? 'completed' : 'incomplete'
}

export function toMessage(id: string, part: OutputPart | undefined, state: Pick<OutputMessage, 'status' | 'phase'>): OutputMessage {
  return { id, type: 'message', role: 'assistant', ...state, content: part ? [part] : [] }
}

export function toFunctionCall({ callId, tool, input }: PendingCall): FunctionCall {
  return { type: 'function_call', status: 'completed', ...toCallIds(callId), name: tool, arguments: JSON.stringify(input) }
}

export function toReasoning(id: string, text: string): Reasoning {
  return { id, type: 'reasoning', status: 'completed', summary: [{ type: 'summary_text', text }] }
}
