import { isQuestionId, toCallId, type Decision, type PendingCall } from '../../agent/approval.ts'
import { fieldsOf } from '../../json/shape.ts'
import type { RecordedCall } from '../example.ts'
import type { NotedWrite } from './answers.ts'
import type { Recording } from './recording.ts'

/** A call of a client tool that the recording cannot answer. */
const simulated = { simulated: true } as const

interface DecisionOptions {
  recording: Recording
  now(): number
  onWrite(write: NotedWrite): void
}

/**
 * Decides on a call that waits: as in the recording, or else by an approval, so that the call is noted. Undefined for a budget, whose limit
 * nobody raises.
 */
export function decide(call: PendingCall, { recording, now, onWrite }: DecisionOptions): Decision | undefined {
  const { callId, tool, input, by } = call
  if (by === 'budget') return undefined
  if (isQuestionId(callId)) return answerOf(callId, recording.claimOf(toCallId(callId)))
  const recorded = recording.claim({ callId, tool, input })
  if (by === 'client') {
    const isAnswer = recorded !== undefined && recorded.status !== 'unknown'
    onWrite({ tool, tool_input: input, n: isAnswer ? recorded.n : null, recorded: isAnswer })
    return clientAnswer(recorded, now())
  }
  const { decision, input: changed, reason } = recorded?.decision ?? {}
  if (decision === 'reject') return { decision, ...(reason !== undefined && { reason }) }
  return { decision: 'approve', ...(changed && { input: changed }), isStarted: false }
}

/** The answer to a question of a server during a call; a question without an answer is declined. */
function answerOf(callId: string, recorded: RecordedCall | undefined): Decision {
  const name = callId.slice(toCallId(callId).length + 1)
  const question = recorded?.questions?.flat().find((candidate) => candidate.name === name)
  if (question?.decision !== 'approve') return { decision: 'reject' }
  return { decision: 'approve', ...(question.answer && { input: question.answer }), isStarted: false }
}

function clientAnswer(recorded: RecordedCall | undefined, now: number): Decision {
  const { startedAt: requestedAt = now, durationMs = 0 } = recorded?.step ?? {}
  const times = { requestedAt, decidedAt: requestedAt + durationMs }
  if (!recorded || recorded.status === 'unknown') return { decision: 'output', output: simulated, ...times }
  const { error } = fieldsOf(recorded.output)
  if (recorded.status === 'error' && typeof error === 'string') return { decision: 'error', error, ...times }
  return { decision: 'output', output: recorded.output, ...times }
}
