import type { AgentEvent } from '../../agent/events.ts'
import type { Image, ToolImage } from '../../agent/messages.ts'
import { ModelError } from '../../agent/model.ts'
import { planExecute } from '../../agent/plan.ts'
import { react } from '../../agent/react.ts'
import { forwardTrace } from '../../agent/trace.ts'
import { callsWithoutResult } from '../../agent/history.ts'
import type { Tool } from '../../agent/tool.ts'
import { offerTools } from '../../agent/tool-offer.ts'
import { fitName } from '../../agent/tool-names.ts'
import type { WorkflowType } from '../../configuration/schema.ts'
import { createDelegation } from '../../sub-agents/delegation.ts'
import type { SubAgent } from '../../sub-agents/sub-agent-store.ts'
import { ServiceError, toErrorBody, type ErrorBody } from '../../errors.ts'
import { interrupt } from './interrupt.ts'
import { keepEvent } from './keep-event.ts'
import type { RunPorts } from './ports.ts'
import { artifactsOf, earlierIn, emptyProgress, restore, type Progress } from './progress.ts'
import { finish } from './finish.ts'
import { checkHints, isDown } from '../intake/hints.ts'
import { maxLosses, processLost } from '../log/outcome.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import { FenceLost, type HistoryMessage, type NextRun, type RunStore, type Turn } from '../run-store.ts'
import { humanMessageData, newestImages } from '../attachments/attached.ts'
import { loadContext } from '../attachments/context-files.ts'
import { createShowImage, fillImages, ownResultImages } from '../attachments/result-images.ts'
import { summaryUnder, underFilters } from '../window/restriction.ts'
import { toTranscript } from '../window/transcript.ts'
import { maxReadMessages } from '../window/window.ts'

/**
 * Runs the agent for a run that has its session, and stores the end, or where it waits for approval. Answers with the next run in the
 * session's line. Throws only when the end could not be stored; its readers have not seen an end then.
 */
export async function execute(run: LiveRun, turn: Turn, deps: RunPorts): Promise<NextRun | undefined> {
  const leftMs = Math.max(0, run.agent.config.max_execution_time * 1000 - run.ranMs)
  const deadline = setTimeout(() => run.stop('timeout'), leftMs)
  const progress = emptyProgress(turn)
  deps.observer?.started(run)
  let error: ErrorBody | undefined
  try {
    await requireHints(run)
    // Asked together with the history; most callers have nothing to be recalled, and wait for nothing.
    const recalling = deps.recall(run)
    const [subAgents] = await Promise.all([deps.subAgents.listForRun(run.key), load(run, progress, deps)])
    if (recalling) showKnown(progress, await recalling)
    for await (const event of agentEvents(run, progress, subAgents, deps)) {
      const stored = keepEvent(event, run, progress, deps)
      if (stored) await stored
    }
    if (run.stopCause === 'handed_over') throw new Error('The run was given up.')
    if (progress.pendingCalls && !run.signal.aborted) {
      await interrupt(run, progress, progress.pendingCalls, deps)
      return undefined
    }
    if (progress.pendingCalls) progress.reason = reasonOfStop(run)
  } catch (thrown) {
    // What was given up has no end here: another process goes on with it.
    if (thrown instanceof FenceLost || run.stopCause === 'handed_over') throw thrown
    if (!(thrown instanceof ModelError || thrown instanceof ServiceError)) deps.onFault(run, thrown)
    error = toErrorBody(toServiceError(thrown))
  } finally {
    clearTimeout(deadline)
  }
  return finish(run, progress, error, deps)
}

/** A run that goes on elsewhere, or later, may find other tools than those that its hints were checked against. */
async function requireHints({ request, agent }: LiveRun): Promise<void> {
  if (request.filters.length === 0) return
  await agent.tools.settling()
  checkHints(request.filters, agent.tools)
}

/** How a run ends that does not go on. `orphaned`: its process died, and nobody came back for it; `cancelled`: while it waited for approval. */
export type Ending = 'orphaned' | 'cancelled'

/** Ends a run that does not go on; what it had done stays, and a repeat of one that was lost goes on from there. */
export async function endAs(ending: Ending, run: LiveRun, turn: Turn, deps: RunPorts): Promise<NextRun | undefined> {
  const progress = emptyProgress(turn)
  // To read what the run has stored may be what its processes died of.
  if (run.losses > maxLosses) progress.checkpoints = 1
  else await load(run, progress, deps, { asksModel: false })
  if (ending === 'orphaned') {
    const error = processLost(run.losses)
    if (run.losses >= maxLosses) deps.onFault(run, error)
    return finish(run, progress, toErrorBody(error), deps)
  }
  progress.reason = 'cancelled'
  const unmade = callsWithoutResult(progress.messages)
  for (const { id, name } of unmade) progress.messages.push({ role: 'tool', callId: id, name, text: cancelledWaiting, isError: true })
  return finish(run, progress, undefined, deps)
}

/** What the model is told later, in the same session. */
const cancelledWaiting = 'The request was cancelled while this waited for approval: what was not approved was not done.'

function reasonOfStop({ stopCause }: LiveRun): 'timeout' | 'cancelled' {
  return stopCause === 'timeout' ? 'timeout' : 'cancelled'
}

/** The session's window, and what an earlier process left of this run. */
async function load(run: LiveRun, progress: Progress, deps: RunPorts, { asksModel } = { asksModel: true }): Promise<void> {
  const { store } = deps
  const { turn } = progress
  const { config } = run.agent
  progress.history = isFirst(run, turn) ? [ownMessage(run)] : await readWindow(run, turn, store)
  // What costs time to read is for the model alone.
  const context = asksModel ? await loadContext(run, deps) : undefined
  if (context?.tool) progress.extraTools = [context.tool]
  const { filters } = run.request
  const history = underFilters(filters, progress.history)
  const shown = asksModel ? await loadImages(run, turn, history, store) : undefined
  const { messages, system } = toTranscript({
    history,
    summary: summaryUnder(filters, turn.summary),
    messageIndex: turn.messageIndex,
    requestId: run.key.requestId,
    messages: run.request.messages,
    tokens: config.memory.history_tokens,
    ...(shown ? { images: shown.questions } : {}),
    ...(context ? { context: context.text } : {}),
  })
  progress.system = [config.instructions, system].filter((text) => text !== '').join('\n\n')
  progress.messages = messages
  progress.ownFrom = messages.length
  progress.storedMessages = messages.length
  if (run.fence > 1) {
    const [checkpoints, decisions] = await Promise.all([store.checkpoints(run.key), store.decisions(run.key)])
    restore(run, progress, checkpoints)
    progress.decisions = decisions
  }
  if (shown) await loadResultImages(run, progress, shown.results, store)
}

/** However long the window has waited for its summary, not more is read than a few windows hold, or the request itself has brought. */
async function readWindow({ key, request }: LiveRun, turn: Turn, store: RunStore): Promise<HistoryMessage[]> {
  const { session, messageCount, windowStart, summary } = turn
  const { tenant } = key
  const from = Math.max(windowStart, messageCount - Math.max(maxReadMessages, request.messages.length))
  const window = await store.history(tenant, session, from)
  // With the first message stands what holds for the whole session.
  return from === windowStart || summary ? window : [...(await store.history(tenant, session, 0, 1)), ...window]
}

/** For this run alone, behind all that stays the same from turn to turn: providers keep what a prompt begins with. */
function showKnown({ messages, ownFrom }: Progress, known: string | undefined): void {
  const own = messages[ownFrom - 1]
  if (known && own?.role === 'user') messages[ownFrom - 1] = { ...own, text: known + own.text }
}

/** Nothing stands in the session but the human message, which is at hand. */
function isFirst({ request }: LiveRun, { messageCount }: Turn): boolean {
  return messageCount === 1 && request.messages.length === 1
}

function ownMessage(run: LiveRun): HistoryMessage {
  return { idx: 0, role: 'human', content: run.input, data: humanMessageData(run.request, run.key.requestId) }
}

interface ShownImages {
  /** Bytes of images that came with questions, by the run that brought them. */
  questions: Map<string, Image[]>
  /** Pictures of earlier results, without their bytes. */
  results: readonly ToolImage[]
}

/** The newest images in the window. A model that can't see gets only those which the question is about, to be refused. */
async function loadImages(
  { key, agent, request }: LiveRun,
  turn: Turn,
  history: readonly HistoryMessage[],
  store: RunStore,
): Promise<ShownImages> {
  const { questions: newest, results } = newestImages({ requestId: key.requestId, images: request.images?.length ?? 0 }, history)
  if (newest.size === 0 || (!agent.model.seesImages && !request.images)) return { questions: new Map(), results }
  const questions = await store.images(key.tenant, turn.session, [...newest.keys()])
  for (const [requestId, count] of newest) questions.set(requestId, (questions.get(requestId) ?? []).slice(0, count))
  return { questions, results }
}

/** Bytes of pictures that tools returned: in earlier turns, and in this run before it was taken over. */
async function loadResultImages(
  { key, agent }: LiveRun,
  progress: Progress,
  earlier: readonly ToolImage[],
  store: RunStore,
): Promise<void> {
  const images = [...earlier, ...ownResultImages(progress)]
  if (images.length === 0 || !agent.model.seesImages) return
  const bytes = await store.resultImages(key.tenant, progress.turn.session, images)
  progress.messages = progress.messages.map((message) => fillImages(message, bytes))
  progress.nested = progress.nested.map((nested) => ({ ...nested, message: fillImages(nested.message, bytes) }))
}

function agentEvents(
  run: LiveRun,
  progress: Progress,
  list: readonly SubAgent[],
  { keeper, images, subAgents, observer, onFault, now, newId }: RunPorts,
): AsyncGenerator<AgentEvent, void> {
  const { agent, key, request, signal } = run
  const { config, model } = agent
  const listings = agent.tools.list()
  const configured = listings.flatMap((listing): Tool[] => (listing.tool ? [listing.tool] : []))
  const tools = [...configured, ...progress.extraTools]
  const trace = observer?.traceOf?.(run) ?? forwardTrace(request.traceparent)
  const common = {
    ...(trace && { trace }),
    headers: request.headers,
    filters: request.filters,
    caller: { tenant: key.tenant, owner: key.owner },
    session: progress.turn.session,
    sessionId: run.sessionId,
    contextFiles: request.contextFiles ?? [],
    isDown: (tool: string) => isDown(tool, listings),
    // A model knows it by the name that was made fit for it.
    latestOutput: (tool: string) =>
      progress.steps.findLast((step) => (step.tool === tool || fitName(step.tool) === tool) && step.status === 'success')?.output,
    windowTokens: config.memory.history_tokens,
    keepArtifact: keeper(run, progress.turn.session, artifactsOf(progress)),
    showImage: model.seesImages ? createShowImage(key, images, ownResultImages(progress)) : undefined,
    decisionFor: (callId: string) => progress.decisions.get(callId),
    stopReason: () => reasonOfStop(run),
    ...{ now, newId },
  }
  const around = { common, caller: key, agent, tools, subAgents, onFault: (error: unknown) => onFault(run, error) }
  const delegation = createDelegation(around, list)
  const loop = (workflowBegun(progress) ?? config.workflow_type) === 'plan_execute' ? planExecute : react
  return loop({
    ...common,
    model,
    system: progress.system,
    messages: progress.messages,
    ...offerTools({
      tools: () => [...tools, ...delegation.tools()],
      findable: configured,
      filters: request.filters,
      question: run.input,
      search: agent.tools.search,
    }),
    maxIterations: config.max_iterations,
    iterations: progress.iterations,
    earlierMessages: (callId) => earlierIn(progress, callId),
    signal,
  })
}

/** One that was taken over goes on as it began, whatever the configuration says by now: a plan made in the middle does things twice. */
function workflowBegun({ messages, ownFrom }: Progress): WorkflowType | undefined {
  const own = messages.slice(ownFrom)
  if (own.length === 0) return undefined
  return own.some((message) => message.role === 'user' && message.instruction !== undefined) ? 'plan_execute' : 'react'
}

function toServiceError(thrown: unknown): unknown {
  if (!(thrown instanceof ModelError)) return thrown
  return new ServiceError('model_unavailable', `No model could answer: ${thrown.message}`, { cause: thrown })
}
