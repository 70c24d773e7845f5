import { type BudgetSpent, metered, toRefusal } from '../../agent/meter.ts'
import type { RecalledMemories } from '../../memory/recall.ts'
import { callsWithoutResult, isOfPlan } from '../../agent/history.ts'
import type { ExecutionPorts } from './ports.ts'
import { artifactsOf } from './finish.ts'
import { restore, type Progress } from './progress.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import type { HistoryMessage, ExecutionStore, Turn } from '../run-store.ts'
import { loadContext } from '../attachments/context-files.ts'
import { loadMedia, loadResultImages } from '../attachments/window-media.ts'
import { summaryUnder, underFilters } from '../window/filters.ts'
import { taintOfHistory, taintOfMemories, taintOfRequest, taintOfSummary } from '../window/taint.ts'
import { readWindow, humanMessageData, toBroughtMessages, toTranscript } from '../window/window.ts'
import { reachState } from '../../states.ts'
import type { ShowImage, Tool } from '../../agent/tool.ts'
import type { KeepArtifact } from '../../agent/messages.ts'
import { forwardTrace } from '../../agent/model.ts'
import { stricterPolicy } from '../../agent/containment.ts'
import { react } from '../../agent/loop.ts'
import type { LoopOptions } from '../../agent/options.ts'
import { planExecute } from '../../agent/plan.ts'
import { maxOffered, offerTools } from '../../agent/tool-offer.ts'
import { joinTaints, unknownTaint, type Containment, type ContainmentPolicy } from '../../agent/taint.ts'
import { fitName, nameTools } from '../../agent/tool-names.ts'
import { toPolicy } from '../../configuration/containment-schema.ts'
import type { WorkflowType } from '../../configuration/schema.ts'
import { createSubAgentTools } from '../../sub-agents/own-tools.ts'
import type { SubAgent } from '../../sub-agents/sub-agent-store.ts'
import { toAnswerSchema } from './answer-schema.ts'
import { isDown } from '../intake/checks.ts'
import { createShowImage, ownResultImages } from '../attachments/result-images.ts'

export function emptyProgress(turn: Turn): Progress {
  return {
    turn,
    history: [],
    system: '',
    messages: [],
    ownFrom: 0,
    extraTools: [],
    clientTools: [],
    iterations: 0,
    usage: { models: [], thoughts: [] },
    steps: [],
    results: [],
    nested: [],
    suspensions: [],
    completeEvents: 0,
    deliveries: 0,
    end: { reason: 'error' },
    checkpoints: 0,
    storedMessages: 0,
    storedEvents: 0,
    storedUsage: { models: 0, thoughts: 0 },
    storedNested: 0,
    storedSuspensions: 0,
    storedRecords: 0,
  }
}

/** Loads the window of the session, and the checkpoints of a resumed run. */
export async function loadProgress(
  run: LiveRun,
  progress: Progress,
  deps: ExecutionPorts,
  { asksModel } = { asksModel: true },
): Promise<void> {
  const { store } = deps
  const { turn } = progress
  const { key, request, times } = run
  const { config } = run.agent
  // The human message of the run may be the only message of the session: no history has to be read.
  progress.history =
    turn.messageCount === 1 && request.messages.length === 1
      ? [{ idx: 0, role: 'human', content: run.input, data: humanMessageData(request, key.requestId) }]
      : await times.during('store', () => readWindow(run, turn, store))
  const { contextFiles, documents, filters } = request
  const isFiltered = filters.length > 0
  // Files and images are slow to read and needed only for model calls.
  const context = asksModel && (contextFiles ?? documents) ? await loadContext(run, deps) : undefined
  if (context?.tool) progress.extraTools = [context.tool]
  if (asksModel && request.clientTools) progress.clientTools = deps.clientTools.create(request.clientTools, key)
  const history = isFiltered ? underFilters(filters, progress.history) : progress.history
  const media = asksModel && mayHaveMedia(run, history) ? await times.during('store', () => loadMedia(run, turn, history, deps)) : undefined
  const { messages, system } = toTranscript({
    history,
    summary: isFiltered ? summaryUnder(filters, turn.summary) : turn.summary,
    messageIndex: turn.messageIndex,
    requestId: key.requestId,
    messages: request.messages,
    instructions: request.instructions,
    tokens: config.memory.history_tokens,
    ...(media ? { images: media.images, files: media.files, fileTexts: media.texts } : {}),
    ...(context ? { context } : {}),
  })
  if (config.containment) progress.containment = containmentOf(run, progress, toPolicy(config.containment))
  progress.system = [config.instructions, run.agent.skills?.prompt ?? '', system].filter((text) => text !== '').join('\n\n')
  progress.ownFrom = messages.length
  progress.messages = request.continuation ? [...messages, ...request.continuation.flatMap(toBroughtMessages)] : messages
  progress.storedMessages = progress.messages.length
  if (run.fence > 1) await loadCheckpoints(run, progress, store)
  progress.isRestored = true
  if (media) await times.during('store', () => loadResultImages(run, progress, media.results, store))
}

async function loadCheckpoints(run: LiveRun, progress: Progress, store: ExecutionStore): Promise<void> {
  const checkpoints = await run.times.during('store', () => store.checkpoints(run.key))
  restore(run, progress, checkpoints)
  for (const callId of callsWithoutEnd(progress)) (progress.openCalls ??= new Map()).set(callId, 'before')
  for (const { containment } of checkpoints) if (containment) holdTo(progress, containment)
  reachState(checkpoints.length > 0 ? 'resumed-with-progress' : 'resumed-without-progress')
  if (callsWithoutResult(progress.messages).length > 0) reachState('resumed-in-tool')
  // An interruption stores a checkpoint.
  if (checkpoints.length > 0) progress.decisions = await run.times.during('store', () => store.decisions(run.key))
  if (run.meter) run.meter.rejected = refusalIn(run, progress)
}

/** Calls of the agent, and of agents inside of calls, that have no result. */
function callsWithoutEnd({ messages, ownFrom, nested }: Progress): Set<string> {
  const all = [...messages.slice(ownFrom), ...nested.map(({ message }) => message)]
  const calls = new Set(all.flatMap((message) => (message.role === 'assistant' ? message.toolCalls.map(({ id }) => id) : [])))
  for (const message of all) if (message.role === 'tool') calls.delete(message.callId)
  return calls
}

/** The refusal of a budget whose limit a person has not raised. */
function refusalIn({ log }: LiveRun, { decisions }: Progress): BudgetSpent | undefined {
  const waits = [...log.events].flatMap((event) => (event.type === 'interrupt' ? event.calls.filter(({ by }) => by === 'budget') : []))
  const rejected = waits.find(({ callId }) => decisions?.get(callId)?.decision === 'reject')
  return rejected && toRefusal(rejected)
}

/** The containment of the agent, with the taint from beside the transcript of the run. */
function containmentOf({ agent, request }: LiveRun, { history, turn }: Progress, policy: ContainmentPolicy): Containment {
  const tools = agent.tools.list().flatMap(({ tool }) => tool ?? [])
  const earlier = history.filter(({ idx }) => idx !== turn.messageIndex)
  const inherited = joinTaints(taintOfSummary(turn.summary), taintOfHistory(earlier, nameTools(tools)), taintOfRequest(request, earlier))
  return { policy, inherited }
}

/** The configuration may have changed since the run began: the stricter of both holds. */
function holdTo(progress: Progress, policy: ContainmentPolicy): void {
  const { policy: current, inherited = unknownTaint } = progress.containment ?? {}
  progress.containment = { policy: stricterPolicy(current, policy)!, inherited }
}

/** False for a new run without images and files, in a session whose window has no attachments and no tool results. */
function mayHaveMedia({ fence, request }: LiveRun, history: readonly HistoryMessage[]): boolean {
  const { images, files } = request
  return fence > 1 || (images ?? files) !== undefined || history.some(({ data }) => data?.images ?? data?.files ?? data?.transcript)
}

/** Puts memories before the question of the current run only, so that the beginning of the prompt stays the same and provider caches hit. */
export function addMemories(progress: Progress, memories: RecalledMemories | undefined): void {
  const { messages, ownFrom, containment } = progress
  if (containment) containment.inherited = joinTaints(containment.inherited, taintOfMemories(memories))
  const question = messages[ownFrom - 1]
  if (!memories || question?.role !== 'user') return
  const parts = { question: question.text, ...question.parts, memories: memories.statements }
  messages[ownFrom - 1] = { ...question, text: memories.text + question.text, parts }
}

/** What the agent of a run is given: the model, the tools, the transcript, and the ports of a run. */
export function agentOptions(
  run: LiveRun,
  progress: Progress,
  list: readonly SubAgent[],
  { store, keeper, images, schemas, subAgents, observer, onFault, pace, publicUrl, now, newId }: ExecutionPorts,
): LoopOptions {
  const { agent, key, request, signal } = run
  const { config } = agent
  const model = run.meter ? metered(agent.model, run.meter) : agent.model
  const listings = agent.tools.list()
  const configured = listings.flatMap((listing): Tool[] => (listing.tool ? [listing.tool] : []))
  const tools = [...configured, ...progress.extraTools]
  const { traceparent } = request
  const tracer = observer?.traceOf?.(run) ?? (traceparent === undefined ? undefined : forwardTrace(traceparent))
  // Most runs keep no artifacts and show no images of tools.
  let keep: KeepArtifact | undefined
  let show: ShowImage | undefined
  let ofSubAgents: readonly Tool[] | undefined
  let all: readonly Tool[] = []
  // The list stays the same while the tools do. Sub-agents do not get the tools of the client.
  const allTools = () => {
    const current = subAgentTools()
    if (current !== ofSubAgents) all = [...tools, ...(ofSubAgents = current), ...progress.clientTools]
    return all
  }
  const options: LoopOptions = {
    workflow:
      (progress.messages.length > progress.ownFrom ? workflowBegun(progress) : config.workflow_type) === 'plan_execute'
        ? planExecute
        : react,
    model,
    system: progress.system,
    messages: progress.messages,
    tools: allTools,
    trace: run.trace.follow(tracer, now),
    headers: request.headers,
    filters: request.filters,
    caller: { tenant: key.tenant, owner: key.owner },
    session: progress.turn.session,
    sessionId: run.sessionId,
    contextFiles: request.contextFiles ?? [],
    isDown: (tool) => isDown(tool, listings),
    // Models use the fitted name of a tool.
    latestStep: (tool) =>
      progress.steps.findLast((step) => (step.tool === tool || fitName(step.tool) === tool) && step.status === 'success'),
    windowTokens: config.memory.history_tokens,
    keepArtifact: (...file) => (keep ??= keeper(run, progress.turn.session, artifactsOf(progress)))(...file),
    showImage: model.seesImages ? (...image) => (show ??= createShowImage(key, images, ownResultImages(progress)))(...image) : undefined,
    decisionFor: (callId) => progress.decisions?.get(callId),
    suspensionOf: (callId) => progress.suspensions.findLast((suspension) => suspension.callId === callId),
    earlierMessages: (callId) => progress.nested.flatMap((entry) => (entry.callId === callId ? [entry.message] : [])),
    stopReason: () => reasonOfStop(run),
    now,
    newId,
    answerSchema: request.responseSchema
      ? toAnswerSchema(request.responseSchema, config.limits.max_schema_repairs, (...answer) => schemas.faultsOf('answer', ...answer, key))
      : undefined,
    maxIterations: config.max_iterations,
    iterations: progress.iterations,
    inbox: run.inbox,
    takeMessages: () => takeMessages(run, store),
    signal,
  }
  if (run.meter) options.meter = run.meter
  if (progress.containment) options.containment = progress.containment
  if (agent.skills) options.hasSkills = true
  if (pace) options.pace = pace
  if (request.modelOptions) options.modelOptions = request.modelOptions
  const policy = progress.containment?.policy
  if (policy?.stripsImages) options.imageHosts = [new URL(publicUrl()).host, ...policy.outboundHosts]
  const surroundings = {
    options,
    caller: key,
    agent: run.meter ? { ...agent, model } : agent,
    tools,
    subAgents,
    onFault: (error: unknown) => onFault(run, error),
  }
  const subAgentTools = createSubAgentTools(surroundings, list)
  if (configured.length <= maxOffered) return options
  const { filters } = request
  const { search, find } = agent.tools
  return { ...options, ...offerTools({ tools: allTools, findable: configured, filters, question: run.input, search, find }) }
}

/** The messages that wait for the run, in order. Messages for the time behind the answer begin the next run. */
async function takeMessages({ inbox, key, times }: LiveRun, store: ExecutionStore) {
  inbox.isWaiting = false
  const open = await times.during('store', () => store.openMessages(key))
  return open.filter(({ mode }) => mode === 'steer').map(({ id, position, rank, text }) => ({ id, position, rank, text }))
}

/** The workflow of a resumed run stays the same after a change of the configuration: a new plan in the middle would repeat steps. */
function workflowBegun({ messages, ownFrom }: Progress): WorkflowType {
  return messages.slice(ownFrom).some(isOfPlan) ? 'plan_execute' : 'react'
}

/** Why a run was stopped whose end is neither an answer nor a failure. */
export function reasonOfStop({ stopCause }: LiveRun): 'timeout' | 'cancelled' {
  return stopCause === 'timeout' ? 'timeout' : 'cancelled'
}
