import type { Message, Part } from '@a2a-js/sdk'
import { RequestMalformedError } from '@a2a-js/sdk/errors'
import { accessTo, requireAccess, type Principal } from '../../../access/permissions.ts'
import type { PendingCall } from '../../../agent/approval.ts'
import type { JsonObject, JsonValue } from '../../../agent/messages.ts'
import { fieldsOf, isObject } from '../../../json/shape.ts'
import { toBudgetText, toWaitingFields, type WaitingCalls } from '../../../runs/approvals/approval-view.ts'
import { maxReasonCharacters, type RequestedDecision } from '../../../runs/approvals/decisions.ts'
import { dataPart, textPart } from './message.ts'

/** The calls that a task waits for, as text and as data. */
export function waitingParts(taskId: string, calls: readonly PendingCall[]): Part[] {
  const fields = toWaitingFields(taskId, calls)
  const { approval_required: approvals, budget_required: budget, client_tool_calls: clientCalls } = fields
  const texts = [
    ...(approvals ? [`Approval is required: ${toTexts(approvals)}. ${approvalInstructions}`] : []),
    ...(budget ? [`${toBudgetText(budget)} ${budgetInstructions(taskId)}`] : []),
    ...(clientCalls ? [`The client runs: ${toTexts(clientCalls)}. ${outputInstructions}`] : []),
  ]
  return [textPart(texts.join(' ')), dataPart({ ...fields })]
}

function toTexts({ calls }: WaitingCalls): string {
  return calls.map(({ tool, tool_input }) => `${tool} ${JSON.stringify(tool_input)}`).join('; ')
}

const approvalInstructions =
  'Answer in this task with the text "approve" or "reject" for all of them, or with a data part {tool_call_id, decision, tool_input?, reason?} for each.'

function budgetInstructions(taskId: string): string {
  return `A person with the permission budgets.write raises its limit with POST /core/v1/runs/${taskId}/approvals. Answer in this task with the text "reject" to end it with what it has.`
}

const outputInstructions = 'Answer in this task with a data part {tool_call_id, output} or {tool_call_id, error} for each.'

/** The decisions in a message to an interrupted task. Throws if a part of the message cannot be read, or the caller may not decide. */
export function toDecisions(message: Message, calls: readonly PendingCall[], principal: Principal): RequestedDecision[] {
  if (calls.some(({ by }) => by !== 'client')) requireAccess(principal, accessTo.decideCall)
  const decisions = message.parts.flatMap((part) => inPart(part, calls))
  if (decisions.length === 0) throw unreadable(calls)
  const unknown = decisions.find(({ callId }) => !calls.some((call) => call.callId === callId))
  if (unknown) throw new RequestMalformedError(`No call ${unknown.callId} of the task waits for approval or for the client.`)
  return decisions
}

function inPart({ content }: Part, open: readonly PendingCall[]): RequestedDecision[] {
  if (content?.$case === 'data') {
    const decision = toAnswer(content.value) ?? toDecision(content.value)
    if (!decision) throw unreadable(open)
    return [decision]
  }
  const word = content?.$case === 'text' ? content.value.trim().toLowerCase() : ''
  const approvals = open.filter(({ by }) => by !== 'client')
  if ((word !== 'approve' && word !== 'reject') || approvals.length === 0) throw unreadable(open)
  // A text decides what the caller may decide. Without such a call, `Approvals.decide` refuses the others.
  const decidedByCaller = approvals.filter(({ by }) => by === 'caller' || (by === 'budget' && word === 'reject'))
  return (decidedByCaller.length > 0 ? decidedByCaller : approvals).map(({ callId }) => ({
    callId,
    decision: word,
    input: undefined,
    reason: undefined,
  }))
}

/** The output or the error of a client tool; undefined for anything else. */
function toAnswer(value: unknown): RequestedDecision | undefined {
  const { tool_call_id: callId, output, error, ...rest } = fieldsOf(value)
  if (typeof callId !== 'string' || Object.keys(rest).length > 0) return undefined
  if (output !== undefined && error === undefined) return { callId, decision: 'output', output: output as JsonValue }
  return typeof error === 'string' && output === undefined ? { callId, decision: 'error', error } : undefined
}

/** The decision on a call; undefined for anything else. */
function toDecision(value: unknown): RequestedDecision | undefined {
  const { tool_call_id: callId, decision, tool_input: input, reason, ...rest } = fieldsOf(value)
  const isReadable =
    typeof callId === 'string' &&
    (decision === 'approve' || decision === 'reject') &&
    (input === undefined || (decision === 'approve' && isObject(input))) &&
    (reason === undefined || (typeof reason === 'string' && reason.length <= maxReasonCharacters)) &&
    Object.keys(rest).length === 0
  if (!isReadable) return undefined
  return { callId, decision, input: input as JsonObject | undefined, reason: reason?.trim() || undefined }
}

function unreadable(open: readonly PendingCall[]): RequestMalformedError {
  const isFor = (...deciders: PendingCall['by'][]) => open.some(({ by }) => deciders.includes(by))
  const texts = [
    ...(isFor('caller', 'role') ? [`The task waits for approval. ${approvalInstructions}`] : []),
    ...(isFor('budget') ? ['The task waits for a budget. Answer in this task with the text "reject" to end it with what it has.'] : []),
    ...(isFor('client') ? [`The task waits for the client. ${outputInstructions}`] : []),
  ]
  return new RequestMalformedError(texts.join(' '))
}
