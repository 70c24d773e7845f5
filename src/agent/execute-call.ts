import { changedInputText, clientAnswerIn, type PendingCall } from './approval.ts'
import { scopeIn, type CallOptions } from './options.ts'
import { toClientOutcome } from './client-tools.ts'
import type { Step, StepStart } from './events.ts'
import { outcomeUnknown } from './history.ts'
import type { JsonValue, ToolImage } from './messages.ts'
import type { PreparedCall } from './prepare-call.ts'
import { createSample } from './sampling.ts'
import { toQuestionId, type ResumedCall, type Suspended, type Suspension } from './suspension.ts'
import { runTool, type InnerAgent, type Tool, type ToolContext, type ToolOutcome } from './tool.ts'
import { reachState } from '../states.ts'

export interface EndedCall {
  call: PreparedCall
  step: Step
  text: string
  images: readonly ToolImage[]
  pendingCalls?: readonly PendingCall[]
  suspended?: Suspended
}

/** The start of a call, as a caller sees it. */
export function stepOf({ call, tool, input, decision }: PreparedCall, { now, subAgent }: CallOptions): StepStart {
  const shownAs = tool?.shownAs ?? { type: 'tool_call', tool: tool?.name ?? call.name }
  return {
    id: call.id,
    ...shownAs,
    input,
    startedAt: clientAnswerIn(decision)?.requestedAt ?? now(),
    ...(subAgent === undefined ? {} : { subAgent }),
    ...(tool?.effect === 'write' ? { effect: tool.effect } : {}),
  }
}

/** Runs a call; a call that cannot run, and one whose client has answered, ends at once. Faults of the tool are results. */
export async function execute(
  prepared: PreparedCall,
  step: StepStart,
  options: CallOptions,
  inner: InnerAgent,
  suspension: Suspension | undefined,
): Promise<EndedCall> {
  const { call, tool, input, fault, decision } = prepared
  const answer = clientAnswerIn(decision)
  if (answer) return ended(prepared, step, toClientOutcome(answer))
  if (!tool || fault) return ended(prepared, step, refused(fault ?? ''))
  const { headers, caller, session, sessionId, contextFiles, latestOutput = noOutput, keepArtifact, showImage, signal, now } = options
  const traceparent = options.trace?.traceparentOf(call.id)
  const callContext = {
    callId: call.id,
    inner,
    ...(traceparent !== undefined && { traceparent }),
    ...requestsOfServers(call.id, tool, options, inner),
    ...(suspension && { resumed: toResumed(suspension, options) }),
  }
  const context = { ...callContext, caller, headers, session, sessionId, contextFiles, latestOutput, ...scopeIn(options, tool) }
  return ended(prepared, step, await runTool(tool, input, { context, keepArtifact, showImage, signal, now }))
}

/** What servers may ask for during a call. */
function requestsOfServers(
  callId: string,
  { name }: Tool,
  { model, trace, suspensionOf, now }: CallOptions,
  { emit }: InnerAgent,
): Pick<ToolContext, 'sample' | 'maySuspend'> {
  return {
    ...(model && { sample: createSample({ model, callId, tool: name, trace, emit, now }) }),
    ...(suspensionOf && { maySuspend: true }),
  }
}

function toResumed({ callId, state }: Suspension, { decisionFor }: CallOptions): ResumedCall {
  return { state, answerTo: (question) => decisionFor?.(toQuestionId(callId, question)) }
}

const noOutput = () => undefined

function ended(call: PreparedCall, start: StepStart, outcome: ToolOutcome): EndedCall {
  const { isError, output, text, images, log, durationMs, artifacts, pendingCalls, suspended } = outcome
  const step = {
    ...start,
    log,
    output,
    status: isError ? ('error' as const) : ('success' as const),
    durationMs,
    ...(artifacts.length > 0 && { artifacts }),
  }
  const { decision } = call
  // The transcript keeps the model's original call.
  const note = decision?.decision === 'approve' && decision.input ? changedInputText(decision.input) : ''
  return { call, step, text: note + text, images, ...(pendingCalls ? { pendingCalls } : {}), ...(suspended ? { suspended } : {}) }
}

function refused(fault: string): ToolOutcome {
  const output: JsonValue = { error: fault }
  return { isError: true, output, text: fault, log: fault, durationMs: 0, artifacts: [], returned: [], images: [] }
}

/** The end of a write that another process may have executed. */
export function unknownEnd(prepared: PreparedCall, step: StepStart): EndedCall {
  reachState('write-outcome-unknown')
  return ended(prepared, step, refused(outcomeUnknown))
}
