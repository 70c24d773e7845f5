import { isQuestionId, type PendingCall } from '../../../agent/approval.ts'
import type { JsonObject } from '../../../agent/messages.ts'
import { invalid, type Fault } from '../../../errors.ts'
import { isObject } from '../../../json/shape.ts'
import { toBudgetText } from '../../../runs/approvals/approval-view.ts'
import { maxReasonCharacters, type RequestedDecision } from '../../../runs/approvals/decisions.ts'

/** Interrupts of LangGraph: one for all calls that the caller decides, in the form of LangChain's `humanInTheLoopMiddleware`. */
export interface Interrupt {
  id: string
  value: object
}

type Word = 'approve' | 'edit' | 'reject'

/** Calls of an interrupt, in the order of its `action_requests`. */
function decidable<T extends Pick<PendingCall, 'by'>>(calls: readonly T[]): T[] {
  return calls.filter(({ by }) => by === 'caller' || by === 'budget')
}

export function toInterrupts(calls: readonly PendingCall[]): Interrupt[] {
  const decidableCalls = decidable(calls)
  if (decidableCalls.length > 0) return [{ id: decidableCalls[0]!.callId, value: toRequest(decidableCalls) }]
  return calls.map(({ callId, tool, by }) => ({ id: callId, value: { message: toNote(tool, by) } }))
}

function toRequest(calls: readonly PendingCall[]): object {
  return {
    action_requests: calls.map((call) => ({ name: call.tool, args: call.input, description: toDescription(call) })),
    review_configs: calls.map((call) => ({ action_name: call.tool, allowed_decisions: wordsFor(call) })),
  }
}

function toNote(tool: string, by: PendingCall['by']): string {
  return by === 'role' ? `Another person decides on the call of ${tool}.` : `The client that has brought the tool ${tool} sends its output.`
}

function toDescription({ callId, tool, input, by }: PendingCall): string {
  if (by === 'budget') return toBudgetText(input)
  return isQuestionId(callId) ? `${String(input['server'])} asks: ${String(input['question'])}` : `Approve the call of ${tool}?`
}

function wordsFor({ callId, input, by }: Pick<PendingCall, 'callId' | 'input' | 'by'>): Word[] {
  if (by === 'budget') return ['reject']
  if (!isQuestionId(callId)) return ['approve', 'edit', 'reject']
  return isObject(input['answer_schema']) ? ['edit', 'reject'] : ['approve', 'reject']
}

const at: Fault['loc'] = ['body', 'command', 'resume']

/** The decisions of `command.resume`: `{decisions: [...]}`, or the same by the id of the interrupt. Throws a validation error that says what is missing. */
export function toDecisions(resume: unknown, calls: readonly PendingCall[]): RequestedDecision[] {
  const decidableCalls = decidable(calls)
  const [first] = decidableCalls
  if (!first) throw invalid(at, 'has nothing to decide: somebody else decides on the calls that wait')
  const answer = isObject(resume) && isObject(resume[first.callId]) ? resume[first.callId] : resume
  const decisions = isObject(answer) && Array.isArray(answer['decisions']) ? (answer['decisions'] as unknown[]) : []
  if (decisions.length !== decidableCalls.length)
    throw invalid(at, `must be {decisions: [...]} with a decision for each of the ${decidableCalls.length} action_requests, in their order`)
  return decidableCalls.map((call, index) => toDecision(decisions[index], call, [...at, 'decisions', index]))
}

function toDecision(decision: unknown, call: PendingCall, loc: Fault['loc']): RequestedDecision {
  const { type, message, ...fields } = isObject(decision) ? decision : {}
  const allowed = wordsFor(call)
  const word = allowed.find((candidate) => candidate === type)
  if (!word) throw invalid([...loc, 'type'], `must be ${allowed.join(' or ')} for ${call.tool}`)
  if (message !== undefined && message !== null && !(typeof message === 'string' && message.length <= maxReasonCharacters))
    throw invalid([...loc, 'message'], `must be a text of at most ${maxReasonCharacters} characters`)
  const base = { callId: call.callId, reason: typeof message === 'string' ? message.trim() || undefined : undefined }
  if (word === 'reject') return { ...base, decision: 'reject', input: undefined }
  return { ...base, reason: undefined, decision: 'approve', input: word === 'edit' ? toEdited(fields, loc) : undefined }
}

function toEdited(fields: Record<string, unknown>, loc: Fault['loc']): JsonObject {
  const edited = fields['edited_action'] ?? fields['editedAction']
  if (!isObject(edited) || !isObject(edited['args'])) throw invalid([...loc, 'edited_action'], 'must be {name, args}')
  return edited['args'] as JsonObject
}
