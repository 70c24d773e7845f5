import { issuerOf, subOf } from '../../access/owner.ts'
import type { JsonObject } from '../../agent/messages.ts'
import { type PendingCall, isQuestionId } from '../../agent/approval.ts'
import type { ApprovableCall, Excerpt } from './approval-store.ts'

/** JSON view of calls that a run waits for. */
export interface WaitingCalls {
  request_id: string
  calls: ({ tool_call_id: string; tool: string; tool_input: JsonObject } & HoldView)[]
}

/** Why containment holds a call, as JSON; empty for any other call. */
interface HoldView {
  reason?: 'untrusted_content'
  sources?: { tool: string; tool_call_id: string | null; host?: string }[]
}

function toHoldView({ sources }: Pick<PendingCall, 'sources'>): HoldView {
  if (!sources) return {}
  const views = sources.map(({ tool, callId, host }) => ({ tool, tool_call_id: callId ?? null, ...(host !== undefined && { host }) }))
  return { reason: 'untrusted_content', sources: views }
}

/** The budget that a run waits for, as JSON. */
export interface WaitingBudget {
  request_id: string
  budget: string
  /** What the next model call needs at least; parts that the budget does not limit are absent. */
  needed: { usd?: number; tokens?: number }
  /** When the budget is whole again; absent for a budget of a run or session. */
  resets_at?: string
}

/** The calls that wait for the approval of a person; undefined for none. */
export function toApprovalRequired(requestId: string, calls: readonly PendingCall[]): WaitingCalls | undefined {
  return toWaitingCalls(
    requestId,
    calls.filter(({ by }) => by === 'caller' || by === 'role'),
  )
}

/** The first of the budgets that a run waits for; undefined for none. */
export function toBudgetRequired(requestId: string, calls: readonly PendingCall[]): WaitingBudget | undefined {
  const wait = calls.find(({ by }) => by === 'budget')
  return wait && { request_id: requestId, ...(wait.input as Omit<WaitingBudget, 'request_id'> & JsonObject) }
}

/** The calls that the client runs; undefined for none. */
export function toClientToolCalls(requestId: string, calls: readonly PendingCall[]): WaitingCalls | undefined {
  return toWaitingCalls(
    requestId,
    calls.filter(({ by }) => by === 'client'),
  )
}

function toWaitingCalls(requestId: string, calls: readonly PendingCall[]): WaitingCalls | undefined {
  if (calls.length === 0) return undefined
  return {
    request_id: requestId,
    calls: calls.map((call) => ({ tool_call_id: call.callId, tool: call.tool, tool_input: call.input, ...toHoldView(call) })),
  }
}

/** What a run waits for as fields of a JSON object, each absent for none. */
export interface WaitingFields {
  approval_required?: WaitingCalls
  budget_required?: WaitingBudget
  client_tool_calls?: WaitingCalls
}

export function toWaitingFields(requestId: string, calls: readonly PendingCall[]): WaitingFields {
  const approvals = toApprovalRequired(requestId, calls)
  const budget = toBudgetRequired(requestId, calls)
  const clientCalls = toClientToolCalls(requestId, calls)
  return {
    ...(approvals ? { approval_required: approvals } : {}),
    ...(budget ? { budget_required: budget } : {}),
    ...(clientCalls ? { client_tool_calls: clientCalls } : {}),
  }
}

/** The finish reason of an interrupted run: an open approval, or a budget, comes before open calls of the client. */
export function interruptReason(calls: readonly PendingCall[]): 'approval_required' | 'tool_calls' {
  return calls.every(({ by }) => by === 'client') ? 'tool_calls' : 'approval_required'
}

/** Sentences for text-only clients. */
export function toWaitingText(requestId: string, calls: readonly PendingCall[]): string {
  const [first, ...more] = calls
  if (first && more.length === 0 && isQuestionId(first.callId)) return toQuestionText(requestId, first)
  const route = `POST /core/v1/runs/${requestId}/approvals`
  const { approval_required: approvals, budget_required: budget, client_tool_calls: clientCalls } = toWaitingFields(requestId, calls)
  const texts = [
    ...(approvals ? [`${toSubject(approvals)} for the approval of a person, who decides with ${route}.`] : []),
    ...(budget ? [`${toBudgetText(budget)} A person with the permission budgets.write raises its limit with ${route}.`] : []),
    ...(clientCalls ? [`${toSubject(clientCalls)} for the client, which sends the output with ${route}.`] : []),
  ]
  return texts.join(' ')
}

/** A sentence for people. */
export function toBudgetText({ budget, resets_at: resets }: { budget?: unknown; resets_at?: unknown }): string {
  return `The run waits, because budget ${String(budget)} is used up${resets === undefined ? '' : ` until ${String(resets)}`}.`
}

function toSubject({ calls }: WaitingCalls): string {
  const tools = [...new Set(calls.map(({ tool }) => tool))].join(', ')
  return calls.length === 1 ? `A call of ${tools} waits` : `${calls.length} calls wait (${tools})`
}

function toQuestionText(requestId: string, { callId, tool, input }: PendingCall): string {
  const { question, url } = input
  const where = url === undefined ? '' : ` (${String(url)})`
  return `${tool} asks: "${String(question)}"${where}. The answer is sent with POST /core/v1/runs/${requestId}/approvals, for tool_call_id ${callId}.`
}

/** JSON view of a call that waits for approval. */
export interface CallView extends HoldView {
  request_id: string
  session_id: string
  tool_call_id: string
  tool: string
  tool_input: JsonObject
  by: 'caller' | 'role' | 'budget'
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
export function toCallView(call: ApprovableCall, mayDecide: boolean, excerpt: Excerpt | undefined): CallView {
  const { requestId, sessionId, callId, tool, input, requestedAt, expiresAt } = call
  return {
    request_id: requestId,
    session_id: sessionId,
    tool_call_id: callId,
    tool,
    tool_input: input,
    by: call.by,
    ...toHoldView(call),
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
