import { isDeepStrictEqual } from 'node:util'
import type { Owner } from '../../access/owner.ts'
import { toStoredError, toStoredOutput } from '../../agent/run-tool.ts'
import type { JsonObject, JsonValue, JsonSchema } from '../../agent/messages.ts'
import { withDefaults } from '../../agent/approval.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { invalid, ServiceError } from '../../errors.ts'
import { isDeeper, maxJsonDepth } from '../../json/shape.ts'
import { reachState } from '../../states.ts'
import type { RunKey } from '../run.ts'
import type { NewDecision, RaisedLimit, StoredCall } from './approval-store.ts'

/** Longest reason of a rejection, which the model receives. */
export const maxReasonCharacters = 4000

/** A decision on a call that waits for approval, or the answer of the client to a call of its tool. */
export type RequestedDecision = { callId: string } & (
  | {
      decision: 'approve' | 'reject'
      /** Replaces the model's arguments; only valid with `approve`. */
      input: JsonObject | undefined
      reason: string | undefined
    }
  | { decision: 'output'; output: JsonValue }
  | { decision: 'error'; error: string }
)

/** A decision on a budget that a run waits for. Without a `callId`: the budget that the run waits for now. */
export type BudgetDecision = { callId: string | undefined } & (
  | {
      decision: 'extend'
      /** Undefined: the run goes on with the limit as it is. */
      limit: RaisedLimit | undefined
    }
  | { decision: 'reject'; input: undefined; reason: string | undefined }
)

export type AnyDecision = RequestedDecision | BudgetDecision

/** A call of a client tool is answered, a budget extended or not, any other call approved or not. */
export function refuseOtherKind({ by, callId }: StoredCall, { decision }: AnyDecision): void {
  const kind = by === 'client' || by === 'budget' ? by : 'approval'
  if (kinds[kind].includes(decision)) return
  const reason = { client: 'is of a client tool', budget: 'waits for a budget', approval: 'waits for an approval' }[kind]
  throw invalid(['body', 'decision'], `the call ${callId} ${reason}: ${kinds[kind].join(' or ')}`)
}

const kinds: Record<'client' | 'budget' | 'approval', readonly AnyDecision['decision'][]> = {
  client: ['output', 'error'],
  budget: ['extend', 'reject'],
  approval: ['approve', 'reject'],
}

export function isAnswer(decision: AnyDecision['decision']): boolean {
  return decision === 'output' || decision === 'error'
}

export function toNewDecision(requested: AnyDecision, decidedBy: string): NewDecision {
  const { callId: _, ...decision } = requested
  if (decision.decision === 'error') return { decision: 'error', error: toStoredError(decision.error), decidedBy }
  if (decision.decision !== 'output') return { ...decision, decidedBy }
  const { output } = decision
  if (isDeeper(output, maxJsonDepth)) throw invalid(['body', 'output'], 'is nested too deeply')
  return { decision: 'output', output: toStoredOutput(output), decidedBy }
}

/** Accepts a repetition of the stored decision. Throws `already_decided` for a different decision. */
export function assertSameDecision(call: StoredCall, decision: NewDecision): RunKey {
  if (call.decision === 'lapsed') throw notInterrupted(call.requestId)
  if (isSameDecision(call, decision)) {
    reachState('decision-repeated')
    return call
  }
  throw new ServiceError('already_decided', `The call ${call.callId} was already decided: ${call.decision}.`)
}

function isSameDecision(call: StoredCall, decision: NewDecision): boolean {
  if (call.decision !== decision.decision) return false
  if (decision.decision === 'output') return isDeepStrictEqual(decision.output, call.output)
  if (decision.decision === 'error') return decision.error === call.error
  if (decision.decision === 'extend') return isDeepStrictEqual(decision.limit, call.newInput)
  return isDeepStrictEqual(decision.input ?? call.input, call.newInput ?? call.input)
}

export function notInterrupted(requestId: string): ServiceError {
  reachState('decision-too-late')
  return new ServiceError('not_interrupted', `Run ${requestId} does not wait for a decision.`)
}

/** Checks replaced arguments with the tool's schema. */
export async function checkInput(agent: CurrentAgent, { tool: name }: StoredCall, requested: AnyDecision): Promise<void> {
  if (requested.decision !== 'approve' || !requested.input) return
  const { input } = requested
  if (isDeeper(input, maxJsonDepth)) throw invalid(['body', 'tool_input'], 'is nested too deeply')
  const listing = agent()
    .tools.list()
    .find((candidate) => candidate.name === name)
  if (!listing) throw invalid(['body', 'tool_input'], `the tool ${name} does not exist any more`)
  if (!listing.tool) throw new ServiceError('tool_not_ready', `The tool ${name} is not ready: ${listing.reason ?? listing.status}`)
  const fault = await listing.tool.check(input)
  if (fault) throw invalid(['body', 'tool_input'], fault)
}

/** The fault of an answer to a question of a server, by the schema of the question; undefined when it is valid. */
export type CheckAnswer = (schema: JsonSchema, answer: JsonObject, caller: Owner) => Promise<string | undefined>

/** Checks the answer to a question of a server. A question without a schema is confirmed or declined. */
export async function checkReply(
  checkAnswer: CheckAnswer,
  { input: question, tenant, owner }: StoredCall,
  requested: AnyDecision,
): Promise<void> {
  if (requested.decision !== 'approve') return
  const { input } = requested
  const { answer_schema: schema } = question
  if (schema === undefined && input) throw invalid(['body', 'tool_input'], 'must be absent: the question is only confirmed or declined')
  if (schema === undefined) return
  if (input && isDeeper(input, maxJsonDepth)) throw invalid(['body', 'tool_input'], 'is nested too deeply')
  const fault = await checkAnswer(schema as JsonSchema, withDefaults(schema as JsonObject, input ?? {}), { tenant, owner })
  if (fault) throw invalid(['body', 'tool_input'], `is the answer to the question, and does not fit its answer_schema: ${fault}`)
}
