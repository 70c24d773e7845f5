import type { Message, Part } from '@a2a-js/sdk'
import { RequestMalformedError } from '@a2a-js/sdk/errors'
import { accessTo, requireAccess } from '../../access/operations.ts'
import type { Principal } from '../../access/principal.ts'
import type { PendingCall } from '../../agent/approval.ts'
import type { JsonObject } from '../../agent/messages.ts'
import { toApprovalRequired } from '../../runs/approvals/approval-view.ts'
import type { Approvals, RequestedDecision } from '../../runs/approvals/approvals.ts'
import type { StoredRun } from '../../runs/run-store.ts'
import { dataPart, textPart } from './parts.ts'
import { fieldsOf, isObject } from '../../json/shape.ts'

/** The pending approvals of a task, as text and as data. */
export function waitingParts(taskId: string, calls: readonly PendingCall[]): Part[] {
  const required = toApprovalRequired(taskId, calls)
  const callTexts = required.calls.map(({ tool, tool_input }) => `${tool} ${JSON.stringify(tool_input)}`)
  const text = `Approval is required: ${callTexts.join('; ')}. ${instructions}`
  return [textPart(text), dataPart({ approval_required: required })]
}

const instructions =
  'Answer in this task with the text "approve" or "reject" for all of them, or with a data part {tool_call_id, decision, tool_input?, reason?} for each.'

interface DecisionContext {
  principal: Principal
  run: StoredRun
  /** Undecided calls of the run. */
  open: readonly PendingCall[]
  approvals: Pick<Approvals, 'decide'>
}

/** Applies the decisions in a message to an interrupted task. Applies none if a part of the message cannot be read. */
export async function applyDecisions(message: Message, { principal, run, open, approvals }: DecisionContext): Promise<void> {
  requireAccess(principal, accessTo.decideCall)
  const decisions = message.parts.flatMap((part) => toDecisions(part, open))
  if (decisions.length === 0) throw unreadable()
  const unknown = decisions.find(({ callId }) => !open.some((call) => call.callId === callId))
  if (unknown) throw new RequestMalformedError(`No call ${unknown.callId} of the task waits for approval.`)
  for (const decision of decisions) await approvals.decide(principal, run.requestId, decision)
}

function toDecisions({ content }: Part, open: readonly PendingCall[]): RequestedDecision[] {
  if (content?.$case === 'data') return [toDecision(content.value)]
  const word = content?.$case === 'text' ? content.value.trim().toLowerCase() : ''
  if (word !== 'approve' && word !== 'reject') throw unreadable()
  // A text decides the calls that the caller may decide. Without such a call, `Approvals.decide` refuses the others.
  const decidedByCaller = open.filter(({ by }) => by === 'caller')
  return (decidedByCaller.length > 0 ? decidedByCaller : open).map(({ callId }) => ({
    callId,
    decision: word,
    input: undefined,
    reason: undefined,
  }))
}

function toDecision(value: unknown): RequestedDecision {
  const { tool_call_id: callId, decision, tool_input: input, reason, ...rest } = fieldsOf(value)
  const isReadable =
    typeof callId === 'string' &&
    (decision === 'approve' || decision === 'reject') &&
    (input === undefined || (decision === 'approve' && isObject(input))) &&
    (reason === undefined || (typeof reason === 'string' && reason.length <= maxReasonCharacters)) &&
    Object.keys(rest).length === 0
  if (!isReadable) throw unreadable()
  return { callId, decision, input: input as JsonObject | undefined, reason: reason?.trim() || undefined }
}

const maxReasonCharacters = 4000

function unreadable(): RequestMalformedError {
  return new RequestMalformedError(`The task waits for approval. ${instructions}`)
}
