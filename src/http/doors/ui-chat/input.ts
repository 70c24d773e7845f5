import type { JsonValue } from '../../../agent/messages.ts'
import type { RequestedDecision } from '../../../runs/approvals/decisions.ts'
import type { DecidedCall } from '../../../runs/trace/source.ts'
import type { Fault } from '../../../errors.ts'
import type { ChatSource } from '../core/chat-request.ts'
import { toImage, toPageChat, toPageFile, type PageMessage } from '../page-chat.ts'
import type { UiChatBody } from './schemas.ts'

type Loc = Fault['loc']
type Message = UiChatBody['messages'][number]
type Part = Message['parts'][number]

const at: Loc = ['body', 'messages']

/** The chat of a request. `isStarted`: the session has messages. Throws a validation error for files that are no data: URL. */
export function toSource({ id, messages, ...fields }: UiChatBody, isStarted: boolean): ChatSource {
  const pageMessages = messages.map((message, index) => toPageMessage(message, [...at, index]))
  const { body, sentFiles } = toPageChat(pageMessages, isStarted, at)
  return { body: { ...fields, session_id: id, images: undefined, ...body }, sentFiles, at: ['body'] }
}

function toPageMessage({ role, parts }: Message, loc: Loc): PageMessage {
  const texts = parts.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : []))
  const message: PageMessage = { role, content: texts.join('\n'), images: [], files: [] }
  for (const [index, { type, url, mediaType, filename }] of parts.entries()) {
    // The files of an answer are links to the service's own files.
    if (type !== 'file' || role !== 'user') continue
    const partLoc = [...loc, 'parts', index, 'url']
    if (/^image(\/|$)/i.test(mediaType ?? '')) message.images.push(toImage(url ?? '', partLoc))
    else message.files.push(toPageFile(url ?? '', filename ?? undefined, partLoc))
  }
  return message
}

/** Whether a request answers tool calls: its last message is the agent's, which the page has completed. */
export function isAnswer({ messages }: UiChatBody): boolean {
  return messages.at(-1)?.role === 'assistant'
}

/** The decisions in the last message on these calls. Parts of other calls were answered before. */
export function toDecisions({ messages }: UiChatBody, calls: readonly DecidedCall[]): RequestedDecision[] {
  const parts = messages.at(-1)?.parts ?? []
  return calls.flatMap((call) => {
    const part = parts.find(({ toolCallId, approval }) => (call.by === 'client' ? toolCallId : approval?.id) === call.callId)
    return part ? toDecision(part, call) : []
  })
}

function toDecision({ state, approval, output, errorText }: Part, { callId, by }: DecidedCall): RequestedDecision[] {
  if (by === 'client') {
    if (state === 'output-available') return [{ callId, decision: 'output', output: (output ?? null) as JsonValue }]
    return state === 'output-error' ? [{ callId, decision: 'error', error: errorText ?? '' }] : []
  }
  if (by === 'role' || state !== 'approval-responded') return []
  const decision = approval?.approved === true ? 'approve' : 'reject'
  return [{ callId, decision, input: undefined, reason: approval?.reason?.trim() || undefined }]
}

/** Ids of the calls that the last message rejects. */
export function rejectedIn({ messages }: UiChatBody): ReadonlySet<string> {
  const rejected = messages.at(-1)?.parts.filter(({ approval }) => approval?.approved === false) ?? []
  return new Set(rejected.flatMap(({ toolCallId }) => toolCallId ?? []))
}
