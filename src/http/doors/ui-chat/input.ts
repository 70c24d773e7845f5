import { object } from '../../schemas/named.ts'
import { Type } from 'typebox'
import type { JsonValue } from '../../../agent/messages.ts'
import type { Fault } from '../../../errors.ts'
import { maxReasonCharacters, type RequestedDecision } from '../../../runs/approvals/decisions.ts'
import type { DecidedCall } from '../../../runs/trace/span.ts'
import { Id, maybe } from '../../schemas/shared.ts'
import type { ChatSource } from '../core/chat-request.ts'
import { maxPageMessages, toImage, toPageChat, toPageFile, type PageMessage } from '../pages.ts'
import { ChatBody } from '../../schemas/chat.ts'

/** The request of the AI SDK's `useChat`, as `DefaultChatTransport` sends it. Unknown fields are ignored. */

const Part = Type.Object({
  type: Type.String({ description: 'Texts and files of messages are read, and answers to tool calls; other parts are ignored.' }),
  text: maybe(Type.String()),
  url: maybe(Type.String({ description: 'The data: URL of a file.' })),
  filename: maybe(Type.String({ maxLength: 1000, description: 'The name of a file.' })),
  mediaType: maybe(Type.String()),
  toolCallId: maybe(Type.String()),
  state: maybe(Type.String()),
  output: Type.Optional(Type.Unknown({ description: 'The output of a tool that the page ran.' })),
  errorText: maybe(Type.String()),
  approval: maybe(
    Type.Object({
      id: maybe(Type.String()),
      approved: maybe(Type.Boolean()),
      reason: maybe(Type.String({ maxLength: maxReasonCharacters })),
    }),
  ),
})

const Message = Type.Object({
  id: Type.Optional(Type.Unknown({ description: 'The id that the page gave the message.' })),
  role: Type.Enum(['system', 'user', 'assistant']),
  parts: Type.Array(Part, { maxItems: maxPageMessages }),
})

export const UiChatBody = object('A chat of the AI SDK. Fields that are not listed are ignored.', {
  id: Type.String({ ...Id, description: 'The chat: the id of the session.' }),
  messages: Type.Array(Message, {
    minItems: 1,
    maxItems: maxPageMessages,
    description:
      'The conversation: the question last, or the message whose tool calls the user has answered. The service has the earlier turns of its sessions, and reads them from there.',
  }),
  ...Type.Pick(ChatBody, ['data_filter_hints', 'auto_memory_retain', 'context_files', 'on_disconnect', 'response_schema', 'client_tools'])
    .properties,
})

export type UiChatBody = Type.Static<typeof UiChatBody>

export const UiMessageChunk = Type.Object(
  { type: Type.String({ description: 'The kind of the part, such as `text-delta`.' }) },
  { additionalProperties: true, description: 'A part of the UI message stream; `type` decides on the other fields.' },
)

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
