import { issuerOf, subOf } from '../../access/owner.ts'
import type { JsonObject } from '../../agent/messages.ts'
import type { PendingCall } from '../../agent/approval.ts'
import type { Excerpt, StoredCall } from './approval-store.ts'

/** JSON view of the calls that a run waits for. */
export interface ApprovalRequired {
  request_id: string
  calls: { tool_call_id: string; tool: string; tool_input: JsonObject }[]
}

export function toApprovalRequired(requestId: string, calls: readonly PendingCall[]): ApprovalRequired {
  return {
    request_id: requestId,
    calls: calls.map(({ callId, tool, input }) => ({ tool_call_id: callId, tool, tool_input: input })),
  }
}

/** A sentence for text-only clients. */
export function toWaitingText(requestId: string, calls: readonly PendingCall[]): string {
  const tools = [...new Set(calls.map(({ tool }) => tool))].join(', ')
  const subject = calls.length === 1 ? `A call of ${tools} waits` : `${calls.length} calls wait (${tools})`
  return `${subject} for the approval of a person, who decides with POST /core/v1/runs/${requestId}/approvals.`
}

/** JSON view of a call that waits for approval. */
export interface CallView {
  request_id: string
  session_id: string
  tool_call_id: string
  tool: string
  tool_input: JsonObject
  by: 'caller' | 'role'
  /** `sub` of the run's caller. */
  requested_by: string
  /** The caller of the run. */
  issuer: string
  sub: string
  requested_at: string
  expires_at: string
  /** True if the reader's key permits deciding the call. Only then the view has `question` and `messages`. */
  may_decide: boolean
  question?: string
  messages?: { role: 'human' | 'ai'; content: string }[]
}

/** The last messages of the session, each cut at `characters`: enough to judge the purpose of a call. */
export const excerptLimits = { messages: 6, characters: 2000 }

/** `excerpt` is shown only if the reader may decide the call. */
export function toCallView(call: StoredCall, mayDecide: boolean, excerpt: Excerpt | undefined): CallView {
  const { requestId, sessionId, callId, tool, input, requestedAt, expiresAt } = call
  return {
    request_id: requestId,
    session_id: sessionId,
    tool_call_id: callId,
    tool,
    tool_input: input,
    by: call.by,
    requested_by: subOf(call),
    issuer: issuerOf(call),
    sub: subOf(call),
    requested_at: new Date(requestedAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
    may_decide: mayDecide,
    ...(mayDecide && excerpt ? toExcerptView(excerpt) : {}),
  }
}

function toExcerptView({ messages, questionIndex }: Excerpt): Required<Pick<CallView, 'question' | 'messages'>> {
  const excerpts = messages.map(({ role, content }) => ({ role, content: toCut(content) }))
  return { question: excerpts[messages.findIndex(({ index }) => index === questionIndex)]?.content ?? '', messages: excerpts }
}

/** Cuts a text without leaving half of a surrogate pair at the end. */
function toCut(text: string): string {
  if (text.length <= excerptLimits.characters) return text
  return `${text.slice(0, excerptLimits.characters - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
