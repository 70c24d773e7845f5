import type { RecalledMemories } from '../../memory/recall.ts'
import type { ShowImage, Tool } from '../../agent/tool.ts'
import type { KeepArtifact } from '../../agent/artifact.ts'
import { ModelError, forwardTrace, type RunTrace } from '../../agent/model.ts'
import { react, runAgent } from '../../agent/loop.ts'
import type { LoopOptions } from '../../agent/options.ts'
import { planExecute } from '../../agent/plan.ts'
import { callsWithoutResult } from '../../agent/history.ts'
import { isOfPlan } from '../../agent/plan-position.ts'
import { offerTools } from '../../agent/tool-offer.ts'
import { fitName } from '../../agent/tool-names.ts'
import type { WorkflowType } from '../../configuration/schema.ts'
import { createDelegation } from '../../sub-agents/delegation.ts'
import type { SubAgent } from '../../sub-agents/sub-agent-store.ts'
import { ServiceError, toErrorBody, type ErrorBody } from '../../errors.ts'
import { schemaMismatch, toAnswerSchema } from './answer-schema.ts'
import { interrupt } from './interrupt.ts'
import { keepEvent } from './keep-event.ts'
import type { RunPorts } from './ports.ts'
import { artifactsOf, earlierIn, emptyProgress, restore, suspensionIn, type Progress } from './progress.ts'
import { finish } from './finish.ts'
import { checkHints, isDown } from '../intake/checks.ts'
import { maxLosses, processLost } from '../log/outcome.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import { FenceLost, type HistoryMessage, type NextRun, type Turn } from '../run-store.ts'
import { loadContext } from '../attachments/context-files.ts'
import { createShowImage, ownResultImages } from '../attachments/result-images.ts'
import { loadMedia, loadResultImages } from '../attachments/window-media.ts'
import { summaryUnder, underFilters, readWindow } from '../window/window.ts'
import { humanMessageData, toBroughtMessages, toTranscript } from '../window/transcript.ts'
import { reachState } from '../../states.ts'

/**
 * Executes the agent for a run that has its session, and stores the end or the interruption. Resolves to the next run in the session queue.
 * Throws only where the end could not be stored; the readers have not received an end then.
 */
export async function execute(run: LiveRun, turn: Turn, deps: RunPorts): Promise<NextRun | undefined> {
  const leftMs = Math.max(0, run.agent.config.max_execution_time * 1000 - run.ranMs)
  const deadline = setTimeout(() => run.stop('timeout'), leftMs)
  const progress = emptyProgress(turn)
  const begunAt = deps.now()
  deps.observer?.started(run)
  let error: ErrorBody | undefined
  try {
    await requireTools(run)
    // Memories are read in parallel with the history. Most callers have no memories and do not wait.
    const recalling = deps.recall(run)
    const [, subAgents] = await Promise.all([
      load(run, progress, deps),
      run.times.during('store', () => deps.subAgents.listForRun(run.key)),
    ])
    recordHolder(run, turn, begunAt, deps)
    if (recalling) addMemories(progress, await run.times.during('store', () => recalling))
    const outcome = await runAgent(agentOptions(run, progress, subAgents, deps), (event) =>
      run.storing ? run.storing.then(() => keepEvent(event, run, progress, deps)) : keepEvent(event, run, progress, deps),
    )
    if (run.stopCause === 'handed_over') throw new Error('The run was handed over.')
    if (outcome.type === 'end') progress.end = outcome
    else if (run.signal.aborted) {
      reachState('interruption-with-stop')
      progress.end = { reason: reasonOfStop(run) }
    } else {
      await interrupt(run, progress, outcome.calls, deps)
      return undefined
    }
    if (progress.end.mismatch) error = toErrorBody(schemaMismatch(progress.end.mismatch))
  } catch (thrown) {
    // A handed over run gets no end here: another process resumes the run.
    if (thrown instanceof FenceLost || run.stopCause === 'handed_over' || run.stopCause === 'unstored') throw thrown
    if (!(thrown instanceof ModelError || thrown instanceof ServiceError)) deps.onFault(run, thrown)
    error = toErrorBody(toServiceError(thrown))
  } finally {
    clearTimeout(deadline)
  }
  // The model may fail, or the run be stopped, while the begin is still on its way to the disk.
  if (run.storing) await run.storing
  return finish(run, progress, error, deps)
}

/** Records that this process executes the run, and that a run which has moved has waited for its client to connect again. */
function recordHolder(run: LiveRun, { windowStart }: Turn, begunAt: number, { holder }: RunPorts): void {
  const { trace, fence, startedAt = begunAt, isQueued, moved } = run
  const window = windowStart > 0 ? { window: windowStart } : {}
  trace.hold({ at: startedAt, holder, fence, ...(isQueued ? { isQueued } : {}), ...moved, ...window })
  if (moved.cause && begunAt - startedAt >= shortestWaitMs) trace.waited(startedAt, begunAt)
}

/** Less time passes between the takeover of a run and its execution without a wait. */
const shortestWaitMs = 20

/**
 * A resumed run may begin before its process has built the tools, and an approved call must find its tool. The hints are checked again: the
 * tools may have changed since the begin of the run.
 */
async function requireTools({ request, agent }: LiveRun): Promise<void> {
  const settling = agent.tools.settling()
  if (settling) await settling
  if (request.filters.length > 0) checkHints(request.filters, agent.tools)
}

/** The end of a run without further execution. `orphaned`: the process died and the client did not reconnect. `cancelled`: during an interruption. */
export type Ending = 'orphaned' | 'cancelled'

/** Ends a run without further execution. The progress is kept; a repeat of an orphaned run continues from there. */
export async function endAs(ending: Ending, run: LiveRun, turn: Turn, deps: RunPorts): Promise<NextRun | undefined> {
  const progress = emptyProgress(turn)
  // Reading the checkpoints of the run may have killed the processes.
  if (run.losses > maxLosses) progress.checkpoints = 1
  else await load(run, progress, deps, { asksModel: false })
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

function reasonOfStop({ stopCause }: LiveRun): 'timeout' | 'cancelled' {
  return stopCause === 'timeout' ? 'timeout' : 'cancelled'
}

/** Loads the window of the session, and the checkpoints of a resumed run. */
async function load(run: LiveRun, progress: Progress, deps: RunPorts, { asksModel } = { asksModel: true }): Promise<void> {
  const { store } = deps
  const { turn } = progress
  const { times } = run
  const { config } = run.agent
  progress.history = isFirst(run, turn) ? [ownMessage(run)] : await times.during('store', () => readWindow(run, turn, store))
  const { contextFiles, documents, filters } = run.request
  const isFiltered = filters.length > 0
  // Files and images are slow to read and needed only for model calls.
  const context = asksModel && (contextFiles ?? documents) ? await loadContext(run, deps) : undefined
  if (context?.tool) progress.extraTools = [context.tool]
  if (asksModel && run.request.clientTools) progress.clientTools = deps.clientTools.create(run.request.clientTools, run.key)
  const history = isFiltered ? underFilters(filters, progress.history) : progress.history
  const media = asksModel && mayHaveMedia(run, history) ? await times.during('store', () => loadMedia(run, turn, history, deps)) : undefined
  const { messages, system } = toTranscript({
    history,
    summary: isFiltered ? summaryUnder(filters, turn.summary) : turn.summary,
    messageIndex: turn.messageIndex,
    requestId: run.key.requestId,
    messages: run.request.messages,
    instructions: run.request.instructions,
    tokens: config.memory.history_tokens,
    ...(media ? { images: media.images, files: media.files, fileTexts: media.texts } : {}),
    ...(context ? { context } : {}),
  })
  progress.system = [config.instructions, system].filter((text) => text !== '').join('\n\n')
  progress.ownFrom = messages.length
  progress.messages = [...messages, ...(run.request.continuation ?? []).flatMap(toBroughtMessages)]
  progress.storedMessages = progress.messages.length
  if (run.fence > 1) {
    const [checkpoints, decisions] = await times.during('store', () => Promise.all([store.checkpoints(run.key), store.decisions(run.key)]))
    restore(run, progress, checkpoints)
    reachState(checkpoints.length > 0 ? 'resumed-with-progress' : 'resumed-without-progress')
    if (callsWithoutResult(progress.messages).length > 0) reachState('resumed-in-tool')
    progress.decisions = decisions
  }
  if (media) await times.during('store', () => loadResultImages(run, progress, media.results, store))
}

/** False for a new run without images and files, in a session whose window has no attachments and no tool results. */
function mayHaveMedia({ fence, request }: LiveRun, history: readonly HistoryMessage[]): boolean {
  const { images, files } = request
  return fence > 1 || (images ?? files) !== undefined || history.some(({ data }) => data?.images ?? data?.files ?? data?.transcript)
}

/** Puts memories before the question of the current run only, so that the beginning of the prompt stays the same and provider caches hit. */
function addMemories({ messages, ownFrom }: Progress, memories: RecalledMemories | undefined): void {
  const question = messages[ownFrom - 1]
  if (!memories || question?.role !== 'user') return
  const parts = { question: question.text, ...question.parts, memories: memories.statements }
  messages[ownFrom - 1] = { ...question, text: memories.text + question.text, parts }
}

/** True where the human message of the run is the only message of the session, so that no history has to be read. */
function isFirst({ request }: LiveRun, { messageCount }: Turn): boolean {
  return messageCount === 1 && request.messages.length === 1
}

function ownMessage(run: LiveRun): HistoryMessage {
  return { idx: 0, role: 'human', content: run.input, data: humanMessageData(run.request, run.key.requestId) }
}

function agentOptions(
  run: LiveRun,
  progress: Progress,
  list: readonly SubAgent[],
  { keeper, images, schemas, subAgents, observer, onFault, now, newId }: RunPorts,
): LoopOptions {
  const { agent, key, request, signal } = run
  const { config, model } = agent
  const listings = agent.tools.list()
  const configured = listings.flatMap((listing): Tool[] => (listing.tool ? [listing.tool] : []))
  const tools = [...configured, ...progress.extraTools]
  const { traceparent } = request
  const tracer = observer?.traceOf?.(run) ?? (traceparent === undefined ? undefined : forwardTrace(traceparent))
  const common = {
    trace: measured(run, run.trace.over(tracer, now)),
    headers: request.headers,
    filters: request.filters,
    caller: { tenant: key.tenant, owner: key.owner },
    session: progress.turn.session,
    sessionId: run.sessionId,
    contextFiles: request.contextFiles ?? [],
    isDown: (tool: string) => isDown(tool, listings),
    // Models use the fitted name of a tool.
    latestOutput: (tool: string) =>
      progress.steps.findLast((step) => (step.tool === tool || fitName(step.tool) === tool) && step.status === 'success')?.output,
    windowTokens: config.memory.history_tokens,
    keepArtifact: atFirstCall((): KeepArtifact => keeper(run, progress.turn.session, artifactsOf(progress))),
    showImage: model.seesImages ? atFirstCall((): ShowImage => createShowImage(key, images, ownResultImages(progress))) : undefined,
    decisionFor: (callId: string) => progress.decisions.get(callId),
    suspensionOf: (callId: string) => suspensionIn(progress, callId),
    stopReason: () => reasonOfStop(run),
    now,
    newId,
  }
  const surroundings = { common, caller: key, agent, tools, subAgents, onFault: (error: unknown) => onFault(run, error) }
  const delegation = createDelegation(surroundings, list)
  return {
    ...common,
    workflow: (workflowBegun(progress) ?? config.workflow_type) === 'plan_execute' ? planExecute : react,
    model,
    ...(request.modelOptions && { modelOptions: request.modelOptions }),
    system: progress.system,
    messages: progress.messages,
    ...offerTools({
      // Sub-agents do not get the tools of the client.
      tools: () => [...tools, ...delegation.tools(), ...progress.clientTools],
      findable: configured,
      filters: request.filters,
      question: run.input,
      search: agent.tools.search,
      find: agent.tools.find,
    }),
    answerSchema: toAnswerSchema(request.responseSchema, config.limits.max_schema_repairs, (schema, value) =>
      schemas.faultsOf('answer', schema, value, key),
    ),
    maxIterations: config.max_iterations,
    iterations: progress.iterations,
    earlierMessages: (callId) => earlierIn(progress, callId),
    signal,
  }
}

/** A trace that counts the model calls of the run's own agent. Those of other agents are a part of their tool call. */
function measured({ times }: LiveRun, trace: RunTrace): RunTrace {
  return {
    ...trace,
    modelCall(callId) {
      if (callId === undefined) times.endAll('model')
      if (callId === undefined) times.begin('model')
      return trace.modelCall(callId)
    },
  }
}

/** Creates a function when it is first called: most runs keep no artifacts and show no images of tools. */
function atFirstCall<Args extends unknown[], Result>(create: () => (...args: Args) => Result): (...args: Args) => Result {
  let created: ((...args: Args) => Result) | undefined
  return (...args) => (created ??= create())(...args)
}

/** The workflow of a resumed run stays the same after a change of the configuration: a new plan in the middle would repeat steps. */
function workflowBegun({ messages, ownFrom }: Progress): WorkflowType | undefined {
  const runMessages = messages.slice(ownFrom)
  if (runMessages.length === 0) return undefined
  return runMessages.some(isOfPlan) ? 'plan_execute' : 'react'
}

function toServiceError(thrown: unknown): unknown {
  if (!(thrown instanceof ModelError)) return thrown
  return new ServiceError('model_unavailable', `No model could answer: ${thrown.message}`, { cause: thrown })
}
