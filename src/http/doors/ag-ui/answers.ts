import type { JsonObject } from '../../../agent/messages.ts'
import { isQuestionId } from '../../../agent/suspension.ts'
import { invalid, type Fault } from '../../../errors.ts'
import { isObject } from '../../../json/shape.ts'
import type { RequestedDecision } from '../../../runs/approvals/decisions.ts'
import type { DecidedCall } from '../../../runs/trace/source.ts'
import { answerSchemaOf, parseDecision } from './interrupts.ts'
import type { RunAgentInput } from './schemas.ts'

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

/** Undefined for a call that another person decides. The run goes on when that is done. */
function toDecision({ interruptId: callId, status, payload }: ResumeEntry, calls: readonly DecidedCall[], at: Fault['loc']) {
  const call = calls.find((candidate) => candidate.callId === callId)
  if (!call || call.by === 'client') throw invalid([...at, 'interruptId'], `no interrupt ${callId} of the thread waits`)
  if (call.by === 'role') return undefined
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
