import { ModelError } from '../../agent/model.ts'
import { runAgent } from '../../agent/loop.ts'
import { callsWithoutResult } from '../../agent/history.ts'
import type { Payer } from '../../budgets/budget.ts'
import { ServiceError, toErrorBody, type ErrorBody } from '../../errors.ts'
import { actsAfterFailure, actsOf, actsOfApproved, joinActs } from './acts.ts'
import { schemaMismatch } from './answer-schema.ts'
import { interrupt } from './interrupt.ts'
import type { ExecutionPorts } from './ports.ts'
import { checkpoint, type Progress } from './progress.ts'
import { finish, messagesUpTo } from './finish.ts'
import { checkHints } from '../intake/checks.ts'
import { maxLosses, processLost } from '../log/outcome.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import { FenceLost, type CheckpointParts, type NextRun, type Turn, type RunActs, type ExecutionStore } from '../run-store.ts'
import { reachState } from '../../states.ts'
import type { RecalledMemories } from '../../memory/recall.ts'
import type { SubAgent } from '../../sub-agents/sub-agent-store.ts'
import { toShown } from '../trace/shown.ts'
import { agentOptions, emptyProgress, reasonOfStop, loadProgress, addMemories } from './prepare.ts'
import type { AgentEvent, NestedEvent, ResultEvent, Step, TurnEvent, UserMessageEvent } from '../../agent/events.ts'
import type { Message } from '../../agent/messages.ts'

/**
 * Executes the agent for a run that has its session, and stores the end or the interruption. Resolves to the next run in the session queue.
 * Throws only where the end could not be stored; the readers have not received an end then. `loop`: a replay runs the agent under a watch.
 */
export async function execute(
  run: LiveRun,
  turn: Turn,
  deps: ExecutionPorts,
  loop: typeof runAgent = runAgent,
): Promise<NextRun | undefined> {
  const leftMs = Math.max(0, run.agent.config.max_execution_time * 1000 - run.ranMs)
  const deadline = setTimeout(() => run.stop('timeout'), leftMs)
  const progress = emptyProgress(turn)
  const begunAt = deps.now()
  deps.observer?.started(run)
  if (run.agent.config.budgets) run.meter = deps.budgets.open(payerOf(run, turn), run.agent, turn.held)
  let error: ErrorBody | undefined
  try {
    if (run.agent.tools.settling() || run.request.filters.length > 0) await requireTools(run, progress, deps)
    // Memories and sub-agents are read in parallel with the history. Most callers have neither, and do not wait.
    const recalling = deps.recall(run)
    const listing = deps.subAgents.listForRun(run.key)
    const [, subAgents] =
      listing instanceof Promise
        ? await Promise.all([loadProgress(run, progress, deps), run.times.during('store', () => listing)])
        : [await loadProgress(run, progress, deps), listing]
    recordHolder(run, turn, begunAt, deps)
    const memories = recalling && (await run.times.during('store', () => recalling))
    run.trace.show(showsMore(run, turn, memories, subAgents) ? toShown(run, progress, memories, subAgents) : undefined)
    if (memories) addMemories(progress, memories)
    const outcome = await loop(agentOptions(run, progress, subAgents, deps), (event) =>
      run.storing ? run.storing.then(() => keepEvent(event, run, progress, deps)) : keepEvent(event, run, progress, deps),
    )
    if (run.stopCause === 'handed_over') throw new Error('The run was handed over.')
    if (outcome.type === 'end') progress.end = outcome
    // The watch of a replay may stop the run behind the end of the loop.
    else if (run.signal.aborted) progress.end = { reason: reasonOfStop(run) }
    else {
      // A budget may refuse the first model call while the begin is still on its way to the disk.
      if (run.storing) await run.storing
      await interrupt(run, progress, outcome.calls, deps)
      return undefined
    }
    if (progress.end.mismatch) error = toErrorBody(schemaMismatch(progress.end.mismatch))
  } catch (thrown) {
    // A handed over run gets no end here: another process resumes the run.
    if (thrown instanceof FenceLost || run.stopCause === 'handed_over' || run.stopCause === 'unstored') throw thrown
    // An end without the stored progress would lose its events and results. The run stays unended, and is taken over again.
    if (run.fence > 1 && !progress.isRestored && isStoreFault(thrown)) throw thrown
    if (!(thrown instanceof ModelError || thrown instanceof ServiceError)) deps.onFault(run, thrown)
    error = toErrorBody(toServiceError(thrown))
  } finally {
    clearTimeout(deadline)
  }
  // The model may fail, or the run be stopped, while the begin is still on its way to the disk.
  if (run.storing) await run.storing
  return finish(run, progress, error, deps)
}

/** Who pays for the model calls of a run. */
function payerOf({ key, operation, request, fence }: LiveRun, { session }: Turn): Payer & { fence: number } {
  return { ...key, session, operation, roles: request.roles, fence }
}

/** Records that the process executes the run, and that a moved run has waited for the client to connect again. */
function recordHolder(run: LiveRun, { windowStart }: Turn, begunAt: number, { holder }: ExecutionPorts): void {
  const { trace, fence, startedAt = begunAt, isQueued, moved } = run
  const window = windowStart > 0 ? { window: windowStart } : {}
  trace.hold({ at: startedAt, holder, fence, ...(isQueued ? { isQueued } : {}), ...moved, ...window })
  if (moved.cause && begunAt - startedAt >= shortestWaitMs) trace.waited(startedAt, begunAt)
}

/** True where the model is shown more than the session and the agent's instructions. */
function showsMore(
  { request }: LiveRun,
  { summary }: Turn,
  memories: RecalledMemories | undefined,
  subAgents: readonly SubAgent[],
): boolean {
  const { messages, filters, instructions, contextFiles, documents, continuation, clientTools, modelOptions, responseSchema } = request
  const hasParts = messages.length > 1 || filters.length > 0 || instructions !== undefined
  const added = contextFiles ?? documents ?? continuation ?? clientTools ?? modelOptions ?? responseSchema ?? summary ?? memories
  return hasParts || Boolean(added) || subAgents.length > 0
}

/** Less time passes between the takeover of a run and its execution without a wait. */
const shortestWaitMs = 20

/**
 * A resumed run may begin before its process has built the tools, and an approved call must find its tool. The hints are checked again: the
 * tools may have changed since the begin of the run.
 */
async function requireTools(run: LiveRun, progress: Progress, deps: ExecutionPorts): Promise<void> {
  const { request, agent } = run
  await agent.tools.settling()
  if (request.filters.length === 0) return
  try {
    checkHints(request.filters, agent.tools)
  } catch (refusal) {
    // The end of the run has the progress of the earlier processes.
    if (run.fence > 1) await loadProgress(run, progress, deps, { asksModel: false })
    throw refusal
  }
}

function isStoreFault(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'store_unavailable'
}

/** The end of a run without further execution. `orphaned`: the process died and the client did not reconnect. `cancelled`: during an interruption. */
export type Ending = 'orphaned' | 'cancelled'

/** Ends a run without further execution. The progress is kept; a repeat of an orphaned run continues from there. */
export async function endAs(ending: Ending, run: LiveRun, turn: Turn, deps: ExecutionPorts): Promise<NextRun | undefined> {
  const progress = emptyProgress(turn)
  // Reading the checkpoints of the run may have killed the processes.
  if (run.losses > maxLosses) progress.checkpoints = 1
  else await loadProgress(run, progress, deps, { asksModel: false })
  if (ending === 'orphaned') {
    reachState('orphan-without-reader')
    const error = processLost(run.losses)
    if (run.losses >= maxLosses) deps.onFault(run, error)
    return finish(run, progress, toErrorBody(error), deps)
  }
  progress.end = { reason: 'cancelled' }
  const cancelledCalls = callsWithoutResult(progress.messages)
  for (const { id, name, approval } of cancelledCalls) {
    const text = approval === 'client' ? cancelledBeforeAnswer : cancelledWaiting
    progress.messages.push({ role: 'tool', callId: id, name, text, isError: true })
  }
  return finish(run, progress, undefined, deps)
}

/** Result texts of cancelled calls, for the model in later turns of the session. */
const cancelledBeforeAnswer = 'The request was cancelled before the client sent the output of this call.'
const cancelledWaiting = 'The request was cancelled while this waited for approval: what was not approved was not done.'

function toServiceError(thrown: unknown): unknown {
  if (!(thrown instanceof ModelError)) return thrown
  return new ServiceError('model_unavailable', `No model could answer: ${thrown.message}`, { cause: thrown })
}

/** Appends the visible part of an event to the log, and stores checkpoints. Returns a promise only where the agent has to wait. */
function keepEvent(event: AgentEvent, run: LiveRun, progress: Progress, deps: ExecutionPorts): Promise<void> | undefined {
  const { store, newId } = deps
  switch (event.type) {
    case 'text':
      run.firstTextAt ??= deps.now()
      run.log.append(event)
      return waitForReaders(run, deps)
    case 'retrying':
      run.log.append(event)
      return waitForReaders(run, deps)
    case 'progress':
      run.log.report(event)
      return undefined
    case 'step_start':
      deps.observer?.saw(run, event)
      if (isCall(event.step) && !event.step.isOfProvider) run.times.begin('tools')
      // Readers pair starts with ends: a start from before the takeover is not repeated.
      if (progress.startedBefore?.has(event.step.id)) return undefined
      run.log.append(event)
      return waitForReaders(run, deps)
    case 'step_end':
      return endStep(event.step, run, progress, deps)
    case 'user_message':
      return keepMessage(event, run, progress, deps)
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
      return event.message.toolCalls.length > 0
        ? checkpoint(run, progress, store, undefined, partsOf(event, run, progress, deps))
        : undefined
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
      return run.times.during('store', () =>
        store.startApproved(run.key, run.fence, event.callId, deps.now(), actsOfApproved(event, run, progress, deps)),
      )
    case 'suspension':
      progress.suspensions.push(event.suspension)
      // A suspended call is stored with the interruption. A write that goes on is stored before it starts, so no write is repeated.
      return event.suspension.isOver && event.effect === 'write' ? checkpoint(run, progress, store) : undefined
  }
}

/** What is stored with the turn. Before a `write` starts, its turn is durable; a turn without `starts` executes nothing but reads. */
function partsOf(event: TurnEvent, run: LiveRun, progress: Progress, deps: ExecutionPorts): Omit<CheckpointParts, 'settlements'> {
  return event.starts ? { acts: actsOf(event, run, progress, deps) } : { isRepeatable: true }
}

/** Stores a message of a person with its delivery, behind the answer so far, and publishes the message then. */
async function keepMessage(event: UserMessageEvent, run: LiveRun, progress: Progress, { store, now }: ExecutionPorts): Promise<void> {
  const { turn } = progress
  // All events so far belong to the messages before.
  progress.completeEvents = run.log.events.length
  const messages = messagesUpTo(event, run, progress)
  const messageCount = turn.messageCount + messages.length
  const delivery = { session: turn.session, rank: event.rank, messages, messageCount, now: now() }
  await checkpoint(run, progress, store, event, { delivery })
  turn.messageCount = messageCount
  progress.deliveries++
  run.log.append(event)
  progress.completeEvents = run.log.events.length
  reachState('message-delivered')
}

/** False for the making of a plan, which is a model call. */
function isCall({ type }: Pick<Step, 'type'>): boolean {
  return type === 'tool_call' || type === 'sub_agent_call'
}

/** Waits for slow readers, and records the wait for the trace of the run. */
function waitForReaders(run: LiveRun, { now }: ExecutionPorts): Promise<void> | undefined {
  const waiting = run.log.waitForReaders(run.signal)
  return waiting && run.times.during('people', () => run.trace.waitFor(waiting, now))
}

function keepResult(event: ResultEvent, run: LiveRun, progress: Progress, deps: ExecutionPorts): Promise<void> | undefined {
  const { message, effect } = event
  const { store, now } = deps
  if (isCall(event.step)) run.times.end('tools')
  run.trace.endCall(message.callId, now())
  if (run.signal.aborted && message.isError) {
    progress.results.push(message)
    progress.cutOff = (progress.cutOff ?? new Set()).add(message.callId)
    run.trace.cutOff(message.callId)
    return undefined
  }
  const images = keepImages(message, run, progress, store)
  progress.results.push(message)
  const acts = actsOf(event, run, progress, deps)
  // The result of a write is stored before the next write starts, so no write is repeated. Reads may be repeated.
  if (effect !== 'write' && !acts) return images
  const storing = () => storeResult(event, run, progress, { store, acts })
  return images ? images.then(storing) : storing()
}

async function storeResult(
  { message, step }: ResultEvent,
  run: LiveRun,
  progress: Progress,
  { store, acts }: { store: ExecutionStore; acts: RunActs | undefined },
): Promise<void> {
  try {
    await checkpoint(run, progress, store, { type: 'step_end', step: withLoggedStart(step, progress) }, { acts })
  } catch (error) {
    if (acts) progress.unrecorded = joinActs(progress.unrecorded, actsAfterFailure(acts))
    throw error
  }
  progress.openCalls?.delete(message.callId)
}

/** Stores the bytes of pictures before a message refers to the pictures. */
function keepImages(message: Message, run: LiveRun, { turn }: Progress, store: ExecutionStore): Promise<void> | undefined {
  if (message.role !== 'tool' || !message.images) return undefined
  const { callId, images } = message
  run.trace.showPictures(
    callId,
    images.map(({ name }) => name),
  )
  return run.times.during('store', () => store.keepResultImages(run.key, run.fence, turn.session, images))
}

/** The step with the start time that readers have received. */
function withLoggedStart(step: Step, { startedBefore }: Progress): Step {
  const startedAt = startedBefore?.get(step.id)
  return startedAt === undefined ? step : { ...step, startedAt }
}

/** Publishes the end of a step. The step of an inner agent's call was observed with the result of the call. */
function endStep(
  ended: Step,
  run: LiveRun,
  progress: Progress,
  deps: ExecutionPorts,
  { isObserved = false } = {},
): Promise<void> | undefined {
  if (!isObserved) deps.observer?.saw(run, { type: 'step_end', step: ended })
  const step = withLoggedStart(ended, progress)
  run.log.append({ type: 'step_end', step })
  progress.steps.push(step)
  progress.completeEvents = run.log.events.length
  return waitForReaders(run, deps)
}

/** Events of an agent inside of a call are stored by the same rules as events of the run. */
async function keepNested({ callId, subAgent, event }: NestedEvent, run: LiveRun, progress: Progress, deps: ExecutionPorts): Promise<void> {
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
    if (event.message.toolCalls.length > 0) await checkpoint(run, progress, store, undefined, partsOf(event, run, progress, deps))
  } else if (event.type === 'result') {
    const acts = isCutOff ? undefined : actsOf(event, run, progress, deps)
    if ((event.effect === 'write' && !isCutOff) || acts) await storeResult(event, run, progress, { store, acts })
    await endStep(event.step, run, progress, deps, { isObserved: true })
  } else if (event.message.instruction !== 'plan') await checkpoint(run, progress, store)
}

function toThought(turn: TurnEvent, text: string, id: string): Step {
  const { startedAt, endedAt, usage } = turn
  const durationMs = endedAt - startedAt
  return { id, type: 'reasoning', tool: usage.model, input: {}, startedAt, log: text, output: text, status: 'success', durationMs }
}
