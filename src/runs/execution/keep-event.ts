import type { AgentEvent, NestedEvent, ResultEvent, Step, TurnEvent } from '../../agent/events.ts'
import type { Message } from '../../agent/messages.ts'
import type { RunPorts } from './ports.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import { checkpoint, type Progress } from './progress.ts'
import type { RunStore } from '../run-store.ts'

/** Appends the visible part of an event to the log, and stores checkpoints. Returns a promise only where the agent has to wait. */
export function keepEvent(event: AgentEvent, run: LiveRun, progress: Progress, deps: RunPorts): Promise<void> | undefined {
  const { store, newId } = deps
  switch (event.type) {
    case 'text':
      run.firstTextAt ??= deps.now()
      run.log.append(event)
      return waitForReaders(run, deps)
    case 'retrying':
      run.log.append(event)
      return waitForReaders(run, deps)
    case 'step_start':
      deps.observer?.saw(run, event)
      if (isCall(event.step) && !event.step.isOfProvider) run.times.begin('tools')
      // Readers pair starts with ends: a start from before the takeover is not repeated.
      if (progress.startedBefore.has(event.step.id)) return undefined
      run.log.append(event)
      return waitForReaders(run, deps)
    case 'step_end':
      return endStep(event.step, run, progress, deps)
    case 'turn':
      deps.observer?.saw(run, event)
      run.times.endAll('model')
      run.trace.endTurn(event)
      progress.iterations++
      progress.usage.models.push(event.usage)
      progress.completeEvents = run.log.events.length
      // Results of the previous turn are in `messages` now.
      progress.results = []
      if (event.message.reasoning) progress.usage.thoughts.push(toThought(event, event.message.reasoning, newId()))
      return event.message.toolCalls.length > 0 ? checkpoint(run, progress, store) : undefined
    case 'result': {
      const storing = keepResult(event, run, progress, deps)
      return storing ? storing.then(() => endStep(event.step, run, progress, deps)) : endStep(event.step, run, progress, deps)
    }
    case 'nested':
      deps.observer?.saw(run, event)
      return keepNested(event, run, progress, deps)
    case 'instruction':
      // All events so far belong to the messages before the instruction.
      progress.completeEvents = run.log.events.length
      if (event.message.instruction) run.trace.instruct(event.message.instruction, deps.now())
      return event.message.instruction === 'plan' ? undefined : checkpoint(run, progress, store)
    case 'approved_start':
      return run.times.during('store', () => store.startApproved(run.key, run.fence, event.callId, deps.now()))
    case 'suspension':
      progress.suspensions.push(event.suspension)
      // A suspended call is stored with the interruption. A write that goes on is stored before it starts, so no write is repeated.
      return event.suspension.isOver && event.effect === 'write' ? checkpoint(run, progress, store) : undefined
  }
}

/** False for the making of a plan, which is a model call. */
function isCall({ type }: Pick<Step, 'type'>): boolean {
  return type === 'tool_call' || type === 'sub_agent_call'
}

/** Waits for slow readers, and records the wait for the trace of the run. */
function waitForReaders(run: LiveRun, { now }: RunPorts): Promise<void> | undefined {
  const waiting = run.log.waitForReaders(run.signal)
  return waiting && run.times.during('people', () => run.trace.waitFor(waiting, now))
}

function keepResult(event: ResultEvent, run: LiveRun, progress: Progress, { store, now }: RunPorts): Promise<void> | undefined {
  const { message, effect } = event
  if (isCall(event.step)) run.times.end('tools')
  run.trace.endCall(message.callId, now())
  if (run.signal.aborted && message.isError) {
    progress.results.push(message)
    progress.cutOff.add(message.callId)
    run.trace.cutOff(message.callId)
    return undefined
  }
  const images = keepImages(message, run, progress, store)
  progress.results.push(message)
  // The result of a write is stored before the next write starts, so no write is repeated. Reads may be repeated.
  if (effect !== 'write') return images
  const next = { type: 'step_end' as const, step: withLoggedStart(event.step, progress) }
  return images ? images.then(() => checkpoint(run, progress, store, next)) : checkpoint(run, progress, store, next)
}

/** Stores the bytes of pictures before a message refers to the pictures. */
function keepImages(message: Message, run: LiveRun, { turn }: Progress, store: RunStore): Promise<void> | undefined {
  if (message.role !== 'tool' || !message.images) return undefined
  const { images } = message
  return run.times.during('store', () => store.keepResultImages(run.key, run.fence, turn.session, images))
}

/** The step with the start time that readers have received. */
function withLoggedStart(step: Step, { startedBefore }: Progress): Step {
  const startedAt = startedBefore.get(step.id)
  return startedAt === undefined ? step : { ...step, startedAt }
}

/** Publishes the end of a step. The step of an inner agent's call was observed with the result of the call. */
function endStep(ended: Step, run: LiveRun, progress: Progress, deps: RunPorts, { isObserved = false } = {}): Promise<void> | undefined {
  if (!isObserved) deps.observer?.saw(run, { type: 'step_end', step: ended })
  const step = withLoggedStart(ended, progress)
  run.log.append({ type: 'step_end', step })
  progress.steps.push(step)
  progress.completeEvents = run.log.events.length
  return waitForReaders(run, deps)
}

/** Events of an agent inside of a call are stored by the same rules as events of the run. */
async function keepNested({ callId, subAgent, event }: NestedEvent, run: LiveRun, progress: Progress, deps: RunPorts): Promise<void> {
  const { store, newId, now } = deps
  const { message } = event
  if (event.type === 'turn') run.trace.endTurn(event, callId)
  else if (event.type === 'result') run.trace.endCall(event.message.callId, now())
  else if (event.message.instruction) run.trace.instruct(event.message.instruction, now(), callId)
  // The result of an aborted call is unknown: a resumed run has no result of the call.
  const isCutOff = event.type === 'result' && run.signal.aborted && event.message.isError
  if (isCutOff) run.trace.cutOff(event.message.callId)
  if (!isCutOff) await keepImages(message, run, progress, store)
  if (!isCutOff) progress.nested.push({ callId, message })
  if (event.type === 'turn') {
    progress.usage.models.push(event.usage)
    if (event.message.reasoning) progress.usage.thoughts.push({ ...toThought(event, event.message.reasoning, newId()), subAgent })
    if (event.message.toolCalls.length > 0) await checkpoint(run, progress, store)
  } else if (event.type === 'result') {
    const { effect } = event
    const step = withLoggedStart(event.step, progress)
    if (effect === 'write' && !isCutOff) await checkpoint(run, progress, store, { type: 'step_end', step })
    await endStep(step, run, progress, deps, { isObserved: true })
  } else if (event.message.instruction !== 'plan') await checkpoint(run, progress, store)
}

function toThought(turn: TurnEvent, text: string, id: string): Step {
  const { startedAt, endedAt, usage } = turn
  const durationMs = endedAt - startedAt
  return { id, type: 'reasoning', tool: usage.model, input: {}, startedAt, log: text, output: text, status: 'success', durationMs }
}
