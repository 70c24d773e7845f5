import type { Interrupt } from '@ag-ui/core'
import { type PendingCall, isQuestionId, toCallId } from '../../../agent/approval.ts'
import type { JsonObject } from '../../../agent/messages.ts'
import { invalid, type Fault } from '../../../errors.ts'
import { isObject } from '../../../json/shape.ts'
import { toBudgetText } from '../../../runs/approvals/approval-view.ts'
import { maxReasonCharacters, type RequestedDecision } from '../../../runs/approvals/decisions.ts'
import type { DecidedCall } from '../../../runs/trace/span.ts'
import type { RunAgentInput } from './input.ts'

/** Interrupts of AG-UI: calls that wait for a person. Their id is the id of the call, or of a server's question in a call. */

const decisionSchema = {
  type: 'object',
  properties: {
    approved: { type: 'boolean' },
    editedArgs: { type: 'object', description: 'Replaces the whole input of the tool.' },
    reason: { type: 'string', maxLength: maxReasonCharacters, description: 'Why the call is rejected; the model receives it.' },
  },
  required: ['approved'],
}

const confirmationSchema = { type: 'object', properties: { approved: { type: 'boolean' } }, required: ['approved'] }

export function toInterrupt({ callId, tool, input, by }: PendingCall): Interrupt {
  const base = { id: callId, toolCallId: toCallId(callId), metadata: { by } }
  if (isQuestionId(callId)) return { ...base, ...toQuestion(input) }
  if (by === 'budget') return { id: callId, reason: 'budget_required', message: toBudgetText(input), metadata: { by, ...input } }
  if (by === 'role') return { ...base, reason: 'tool_call', message: `Another person decides on the call of ${tool}.` }
  return { ...base, reason: 'tool_call', message: `Approve the call of ${tool}?`, responseSchema: decisionSchema }
}

/** A question of a server, during a call: a form, or a confirmation. */
function toQuestion(input: JsonObject): Pick<Interrupt, 'reason' | 'message' | 'responseSchema'> {
  const schema = answerSchemaOf(input)
  const { server, question, url } = input
  const message = [`${String(server)} asks: ${String(question)}`, ...(typeof url === 'string' ? [url] : [])].join(' ')
  return { reason: schema ? 'input_required' : 'confirmation', message, responseSchema: schema ?? confirmationSchema }
}

/** The schema of the answer to a question; undefined for a confirmation, and for a call that waits for approval. */
export function answerSchemaOf({ answer_schema: schema }: JsonObject): JsonObject | undefined {
  return isObject(schema) ? schema : undefined
}

/** A decision in the payload of an answer. */
export interface DecisionPayload {
  approved: boolean
  editedArgs: JsonObject | undefined
  reason: string | undefined
}

/** Reads `{approved, editedArgs?, reason?}`; returns the fault with the name of its field otherwise. */
export function parseDecision(payload: unknown): DecisionPayload | [field: string, fault: string] {
  const { approved, editedArgs, reason } = isObject(payload) ? payload : {}
  if (typeof approved !== 'boolean') return ['approved', 'must be true or false']
  if (editedArgs !== undefined && !(approved && isObject(editedArgs))) return ['editedArgs', 'must be an object, and goes with an approval']
  if (reason !== undefined && !(typeof reason === 'string' && reason.length <= maxReasonCharacters))
    return ['reason', `must be a text of at most ${maxReasonCharacters} characters`]
  return { approved, editedArgs: editedArgs as JsonObject | undefined, reason }
}

type ResumeEntry = NonNullable<RunAgentInput['resume']>[number]
type Message = RunAgentInput['messages'][number]

/** Whether a request answers calls of the run that waits in its thread. */
export function isAnswer({ resume, messages }: RunAgentInput): boolean {
  return (resume ?? []).length > 0 || messages.findLast(({ role }) => role !== 'reasoning' && role !== 'activity')?.role === 'tool'
}

/**
 * The decisions of a request on the calls of its thread's run: `resume` answers interrupts, `tool` messages answer calls of client tools. Throws
 * a validation error where an answer cannot be read, or an open interrupt has none.
 */
export function toDecisions({ resume: entries, messages }: RunAgentInput, calls: readonly DecidedCall[]): RequestedDecision[] {
  const resume = entries ?? []
  const decisions = resume.flatMap((entry, index) => toDecision(entry, calls, ['body', 'resume', index]) ?? [])
  const answered = new Set(resume.map(({ interruptId }) => interruptId))
  const missing = calls.filter(({ by, callId, decision }) => by === 'caller' && decision === undefined && !answered.has(callId))
  if (resume.length > 0 && missing.length > 0)
    throw invalid(['body', 'resume'], `must answer every open interrupt; missing: ${missing.map(({ callId }) => callId).join(', ')}`)
  return [...decisions, ...calls.flatMap((call) => toOutput(call, messages))]
}

/** Undefined for a call or a budget that another person decides on. The run goes on when that is done. A cancelled budget ends the run. */
function toDecision({ interruptId: callId, status, payload }: ResumeEntry, calls: readonly DecidedCall[], at: Fault['loc']) {
  const call = calls.find((candidate) => candidate.callId === callId)
  if (!call || call.by === 'client') throw invalid([...at, 'interruptId'], `no interrupt ${callId} of the thread waits`)
  if (call.by === 'role' || (call.by === 'budget' && status !== 'cancelled')) return undefined
  const decision: RequestedDecision = { callId, decision: 'reject', input: undefined, reason: undefined }
  if (status === 'cancelled') return decision
  if (isQuestionId(callId) && answerSchemaOf(call.input)) {
    if (!isObject(payload)) throw invalid([...at, 'payload'], 'must be an object that fits the responseSchema of the interrupt')
    return { ...decision, decision: 'approve' as const, input: payload as JsonObject }
  }
  const read = parseDecision(payload)
  if (Array.isArray(read)) throw invalid([...at, 'payload', read[0]], read[1])
  const { approved, editedArgs, reason } = read
  return {
    ...decision,
    decision: approved ? ('approve' as const) : ('reject' as const),
    input: editedArgs,
    reason: reason?.trim() || undefined,
  }
}

/** The answer to a call of a client tool; empty for other calls, and for a call without an answer. */
function toOutput({ callId, by }: DecidedCall, messages: readonly Message[]): RequestedDecision[] {
  const message = messages.findLast(({ role, toolCallId }) => role === 'tool' && toolCallId === callId)
  if (by !== 'client' || !message) return []
  if (typeof message.error === 'string') return [{ callId, decision: 'error', error: message.error }]
  return [{ callId, decision: 'output', output: textOf(message.content) }]
}

function textOf(content: Message['content']): string {
  if (Array.isArray(content)) return content.flatMap(({ text }) => text ?? []).join('\n')
  return typeof content === 'string' ? content : ''
}
