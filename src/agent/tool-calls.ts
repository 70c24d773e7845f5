import { Interrupted, type PendingCall } from './approval.ts'
import type { CallOptions } from './call-options.ts'
import type { AgentEvent } from './events.ts'
import { execute, stepOf, unknownEnd, type EndedCall } from './execute-call.ts'
import { InnerEvents } from './inner-events.ts'
import type { Message, ToolCall } from './messages.ts'
import { effectOf, isApprovedWrite, isUndecided, prepare, toPending, type PreparedCall } from './prepare-call.ts'
import { canResume, toQuestionId, type Suspended, type Suspension } from './suspension.ts'
import { nameTools } from './tool-names.ts'
import { reachState } from '../states.ts'

/** Reads of one turn that run at the same time; further reads wait. */
const maxParallelReads = 8

/**
 * Runs the calls of a turn: reads in parallel, writes sequentially in the order requested. Yields starts and ends at once,
 * with each `result` before the visible end, so that the result can be stored first. Events of agents inside of the calls
 * are yielded in between. Results join the transcript in the order requested. Calls waiting for a decision stay open, and
 * are thrown as `Interrupted` after the end of all remaining calls.
 */
export async function* runCalls(
  calls: readonly ToolCall[],
  options: CallOptions,
  { resumed = false } = {},
): AsyncGenerator<AgentEvent, void> {
  const toolsByName = nameTools(options.tools())
  const all = await Promise.all(calls.map((call) => prepare(call, toolsByName, options)))
  const open: PendingCall[] = all.filter(isUndecided).map(toPending)
  const prepared = all.filter((call) => !isUndecided(call))
  const reads = prepared.filter(({ tool }) => tool?.effect !== 'write')
  const writes = prepared.filter(({ tool }) => tool?.effect === 'write')
  const maybeDone = resumed ? toMaybeDone(writes, options) : new Set()
  const results = new Map<string, Message>()
  const running = new Map<string, Promise<EndedCall>>()
  const innerEvents = new InnerEvents()
  const leaving = new AbortController()
  const signal = AbortSignal.any([options.signal, leaving.signal])

  function* start(prepared: PreparedCall): Generator<AgentEvent, void> {
    const { id } = prepared.call
    const step = stepOf(prepared, options)
    const isUnknown = maybeDone.has(prepared)
    const suspension = isUnknown ? undefined : suspensionToResume(prepared, options)
    if (suspension) yield { type: 'suspension', suspension: { ...suspension, isOver: true }, effect: effectOf(prepared) }
    else if (isApprovedWrite(prepared) && !isUnknown && !signal.aborted) {
      reachState('approved-call-started')
      yield { type: 'approved_start', callId: id }
    }
    yield { type: 'step_start', step }
    const innerAgent = { earlierMessages: (callId: string) => options.earlierMessages?.(callId) ?? [], publish: innerEvents.publish }
    running.set(
      id,
      isUnknown ? Promise.resolve(unknownEnd(prepared, step)) : execute(prepared, step, { ...options, signal }, innerAgent, suspension),
    )
  }

  try {
    if (writes[0]) yield* start(writes.shift()!)
    while (reads[0] && running.size < maxParallelReads) yield* start(reads.shift()!)
    while (running.size > 0) {
      const ended = await Promise.race([...running.values(), innerEvents.arrived])
      if (!ended) {
        yield* innerEvents.take()
        continue
      }
      const { call: endedCall, step, text, images, pendingCalls, suspended } = ended
      const { id: callId, name } = endedCall.call
      running.delete(callId)
      if (suspended) yield { type: 'suspension', suspension: toSuspension(callId, suspended), effect: effectOf(endedCall) }
      if (pendingCalls) {
        open.push(...pendingCalls)
        const next = reads.shift()
        if (next) yield* start(next)
        continue
      }
      const effect = effectOf(endedCall)
      const message: Message = {
        role: 'tool',
        callId,
        name,
        text,
        isError: step.status === 'error',
        ...(images.length > 0 && { images: [...images] }),
      }
      results.set(callId, message)
      yield { type: 'result', message, effect, step }
      yield { type: 'step_end', step }
      const next = effect === 'write' ? writes.shift() : reads.shift()
      if (next) yield* start(next)
    }
  } finally {
    // A consumer that leaves in the middle must leave no tools running and no inner agents waiting.
    leaving.abort()
    innerEvents.close()
  }
  options.messages.push(...calls.flatMap(({ id }) => results.get(id) ?? []))
  options.signal.throwIfAborted()
  if (open.length > 0) throw new Interrupted(open)
}

/**
 * Writes that the dead process may already have executed. Writes run one at a time, so only the first pending write can
 * have started. Approved writes record their own start (`isStarted`). A suspended write goes on with its answers once.
 */
function toMaybeDone(writes: readonly PreparedCall[], options: CallOptions): Set<PreparedCall> {
  const first = writes.find(({ call }) => call.approval === undefined)
  const started = writes.filter((write) => write === first || (write.decision?.decision === 'approve' && write.decision.isStarted))
  return new Set(started.filter((write) => suspensionToResume(write, options) === undefined))
}

/** The suspension that a call continues, now that its questions have answers. */
function suspensionToResume({ call, fault }: PreparedCall, { suspensionOf, decisionFor }: CallOptions): Suspension | undefined {
  const suspension = fault === undefined ? suspensionOf?.(call.id) : undefined
  return canResume(suspension, decisionFor) ? suspension : undefined
}

function toSuspension(callId: string, { state, questions }: Suspended): Suspension {
  return { callId, state, questionIds: questions.map(({ name }) => toQuestionId(callId, name)) }
}
