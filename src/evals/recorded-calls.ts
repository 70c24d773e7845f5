import type { JsonObject } from '../agent/messages.ts'
import type { Step } from '../agent/events.ts'
import { isQuestionId, toCallId } from '../agent/approval.ts'
import type { LoggedEvent } from '../runs/run.ts'
import type { ModelRecord, TraceRecord } from '../runs/trace/records.ts'
import type { DecidedCall } from '../runs/trace/span.ts'
import { stepsIn, type LoggedStep } from '../runs/trace/turn-parts.ts'
import type { RecordedCall, RecordedDecision, RecordedQuestion, RecordedStep } from './example.ts'

/** The tool calls of a log in the order of their starts, each with the call in which its agent ran. Calls of the provider belong to the replies. */
export function recordedCalls(
  events: readonly LoggedEvent[],
  records: readonly TraceRecord[],
  approvals: readonly DecidedCall[],
): RecordedCall[] {
  const steps = [...stepsIn(events).values()].filter(({ start }) => start.type !== 'planning' && !start.isOfProvider)
  const numbers = new Map(steps.map(({ start }, index) => [start.id, index + 1]))
  const agents = agentsOfCalls(records)
  const decided = new Map(approvals.map((call) => [call.callId, call]))
  const questions = questionsIn(events, decided)
  const pictures = new Map(records.flatMap((record) => (record.type === 'pictures' ? [[record.callId, record.names] as const] : [])))
  return steps.map((step, index) => {
    const agent = agents.get(step.start.id)
    const parent = agent === undefined ? null : (numbers.get(agent) ?? null)
    const { id } = step.start
    const names = pictures.get(id)
    return { n: index + 1, parent, ...toCall(step, decided.get(id)), ...(names && { pictures: names }), ...questions.get(id) }
  })
}

/** The call in which the agent of each call ran. Calls of the run's own agent are left out. */
function agentsOfCalls(records: readonly TraceRecord[]): Map<string, string> {
  const models = records.filter((record): record is ModelRecord => record.type === 'model')
  return new Map(models.flatMap(({ callId, calls = [] }) => (callId === undefined ? [] : calls.map((id) => [id, callId] as const))))
}

function toCall({ start, end }: LoggedStep, waited: DecidedCall | undefined): Omit<RecordedCall, 'n' | 'parent'> {
  const decision = waited && toDecision(waited)
  return {
    tool: start.tool,
    tool_input: waited?.input ?? start.input,
    output: end?.output ?? null,
    status: end?.status ?? 'unknown',
    effect: start.effect ?? 'read',
    ...(decision && { decision }),
    ...(end?.artifacts && { artifacts: end.artifacts }),
    ...(end && { step: toStep(end) }),
  }
}

function toStep({ id, type, startedAt, durationMs, log, subAgent, containment }: Step): RecordedStep {
  return {
    id,
    type: type === 'sub_agent_call' ? type : 'tool_call',
    startedAt,
    durationMs,
    log,
    ...(subAgent !== undefined && { subAgent }),
    ...(containment && { containment }),
  }
}

function toDecision({ by, decision, newInput, reason, sources }: DecidedCall): RecordedDecision | undefined {
  if (by === 'budget' || decision === undefined || decision === 'lapsed') return undefined
  return {
    by,
    decision,
    ...(newInput && { input: newInput }),
    ...(reason !== undefined && { reason }),
    ...(sources && { sources }),
  }
}

/** The questions during each call, in the rounds in which the run has waited. */
function questionsIn(events: readonly LoggedEvent[], decided: ReadonlyMap<string, DecidedCall>) {
  const questions = new Map<string, { questions: RecordedQuestion[][] }>()
  for (const event of events) {
    if (event.type !== 'interrupt') continue
    const pendingCalls = event.calls.filter(({ callId }) => isQuestionId(callId))
    for (const [callId, calls] of Map.groupBy(pendingCalls, (call) => toCallId(call.callId))) {
      const rounds = questions.get(callId) ?? { questions: [] }
      rounds.questions.push(calls.map((call) => toQuestion(call.callId.slice(callId.length + 1), call.input, decided.get(call.callId))))
      questions.set(callId, rounds)
    }
  }
  return questions
}

function toQuestion(name: string, input: JsonObject, answered: DecidedCall | undefined): RecordedQuestion {
  const { decision, newInput } = answered ?? {}
  return { name, input, ...(decision && decision !== 'lapsed' && { decision }), ...(newInput && { answer: newInput }) }
}
