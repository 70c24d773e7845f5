import { subOf } from '../../access/owner.ts'
import type { JsonObject } from '../../agent/messages.ts'
import type { PendingCall } from '../../agent/approval.ts'
import type { Excerpt, StoredCall } from './approval-store.ts'

/** What a run waits for, as its caller is told. */
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

/** One sentence, for who reads text. */
export function toWaitingText(requestId: string, calls: readonly PendingCall[]): string {
  const tools = [...new Set(calls.map(({ tool }) => tool))].join(', ')
  const what = calls.length === 1 ? `A call of ${tools} waits` : `${calls.length} calls wait (${tools})`
  return `${what} for the approval of a person, who decides with POST /core/v1/runs/${requestId}/approvals.`
}

/** A call that waits. */
export interface CallView {
  request_id: string
  session_id: string
  tool_call_id: string
  tool: string
  tool_input: JsonObject
  by: 'caller' | 'role'
  /** Who asked the agent: its `sub`. */
  requested_by: string
  requested_at: string
  expires_at: string
  /** Whether the reader's key permits to decide the call. Only then the view has `question` and `messages`. */
  may_decide: boolean
  question?: string
  messages?: { role: 'human' | 'ai'; content: string }[]
}

/** Enough to see what a call is for: the last messages of the session, each cut at so many characters. */
export const excerptLimits = { messages: 6, characters: 2000 }

/** `excerpt`: of a call that the reader may decide. */
export function toCallView(call: StoredCall, mayDecide: boolean, excerpt: Excerpt | undefined): CallView {
  const { requestId, sessionId, callId, tool, input, by, requestedAt, expiresAt } = call
  return {
    request_id: requestId,
    session_id: sessionId,
    tool_call_id: callId,
    tool,
    tool_input: input,
    by,
    requested_by: subOf(call),
    requested_at: new Date(requestedAt).toISOString(),
    expires_at: new Date(expiresAt).toISOString(),
    may_decide: mayDecide,
    ...(mayDecide && excerpt ? toExcerptView(excerpt) : {}),
  }
}

function toExcerptView({ messages, questionIndex }: Excerpt): Required<Pick<CallView, 'question' | 'messages'>> {
  const shown = messages.map(({ role, content }) => ({ role, content: toCut(content) }))
  return { question: shown[messages.findIndex(({ index }) => index === questionIndex)]?.content ?? '', messages: shown }
}

/** No half of a surrogate pair is left at the end. */
function toCut(text: string): string {
  if (text.length <= excerptLimits.characters) return text
  return `${text.slice(0, excerptLimits.characters - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
