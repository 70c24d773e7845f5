import type { Message, Part } from '@a2a-js/sdk'
import { RequestMalformedError } from '@a2a-js/sdk/errors'
import { accessTo, requireAccess } from '../../access/operations.ts'
import type { Principal } from '../../access/principal.ts'
import type { PendingCall } from '../../agent/approval.ts'
import type { JsonObject } from '../../agent/messages.ts'
import { toApprovalRequired } from '../../runs/approvals/approval-view.ts'
import type { Approvals, GivenDecision } from '../../runs/approvals/approvals.ts'
import type { StoredRun } from '../../runs/run-store.ts'
import { dataPart, textPart } from './parts.ts'
import { fieldsOf, isObject } from '../../json/is-object.ts'

/** What a task waits for, in words and as data. */
export function waitingParts(taskId: string, calls: readonly PendingCall[]): Part[] {
  const required = toApprovalRequired(taskId, calls)
  const each = required.calls.map(({ tool, tool_input }) => `${tool} ${JSON.stringify(tool_input)}`)
  const text = `Approval is required: ${each.join('; ')}. ${howTo}`
  return [textPart(text), dataPart({ approval_required: required })]
}

const howTo =
  'Answer in this task with the text "approve" or "reject" for all of them, or with a data part {tool_call_id, decision, tool_input?, reason?} for each.'

interface Deciding {
  principal: Principal
  run: StoredRun
  /** Calls of the run that nobody has decided yet. */
  open: readonly PendingCall[]
  approvals: Pick<Approvals, 'decide'>
}

/** Decides what a message says of a task that waits; nothing is decided where a part of it can't be read. */
export async function decideBy(message: Message, { principal, run, open, approvals }: Deciding): Promise<void> {
  requireAccess(principal, accessTo.decideCall)
  const given = message.parts.flatMap((part) => toDecisions(part, open))
  if (given.length === 0) throw unclear()
  const unknown = given.find(({ callId }) => !open.some((call) => call.callId === callId))
  if (unknown) throw new RequestMalformedError(`No call ${unknown.callId} of the task waits for approval.`)
  for (const one of given) await approvals.decide(principal, run.requestId, one)
}

function toDecisions({ content }: Part, open: readonly PendingCall[]): GivenDecision[] {
  if (content?.$case === 'data') return [toDecision(content.value)]
  const word = content?.$case === 'text' ? content.value.trim().toLowerCase() : ''
  if (word !== 'approve' && word !== 'reject') throw unclear()
  // What somebody else decides is left open, or refused where there is nothing beside it.
  const own = open.filter(({ by }) => by === 'caller')
  return (own.length > 0 ? own : open).map(({ callId }) => ({ callId, decision: word, input: undefined, reason: undefined }))
}

function toDecision(value: unknown): GivenDecision {
  const { tool_call_id: callId, decision, tool_input: input, reason, ...rest } = fieldsOf(value)
  const isRead =
    typeof callId === 'string' &&
    (decision === 'approve' || decision === 'reject') &&
    (input === undefined || (decision === 'approve' && isObject(input))) &&
    (reason === undefined || (typeof reason === 'string' && reason.length <= maxReason)) &&
    Object.keys(rest).length === 0
  if (!isRead) throw unclear()
  return { callId, decision, input: input as JsonObject | undefined, reason: reason?.trim() || undefined }
}

const maxReason = 4000

function unclear(): RequestMalformedError {
  return new RequestMalformedError(`The task waits for approval. ${howTo}`)
}
