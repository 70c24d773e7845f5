import { isOfPlan, withoutRepairs, repair, withoutImageBytes } from '../../agent/history.ts'
import type { Step, UserMessageEvent } from '../../agent/events.ts'
import { isSteer } from '../../agent/inbox.ts'
import { planningOf } from '../../agent/plan.ts'
import { toErrorBody, type ErrorBody } from '../../errors.ts'
import { ownResultImages } from '../attachments/result-images.ts'
import { callbackJob } from '../callbacks/callbacks.ts'
import { type CompactLog, toCompact } from '../log/compact-log.ts'
import type { ExecutionPorts } from './ports.ts'
import type { NewJob } from '../jobs.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import { citationsOf, citationsOfSources } from './citations.ts'
import { actsAtEnd } from './acts.ts'
import { reasonOfError } from './answer-schema.ts'
import { outputOf, statusOfEnd, stepsOf, toAnswerStep } from '../log/outcome.ts'
import { checkpoint, hasUnstored, settlementsOf, type Progress } from './progress.ts'
import type { EndEvent, LoggedEvent } from '../run.ts'

import { FenceLost, type EndedRun, type NewMessage, type NextRun } from '../run-store.ts'
import { hintNames } from '../window/filters.ts'
import { nextWindowStart, toSizedMessage } from '../window/window.ts'
import type { AssistantMessage, Message, Artifact, Taint } from '../../agent/messages.ts'
import { joinTaints, marksOf, taintOfCall, taintOfMessages } from '../../agent/taint.ts'
import { findTool, nameTools } from '../../agent/tool-names.ts'
import { addUsage, type ModelUsage } from '../../agent/model.ts'
import type { Agent } from '../../configuration/agent.ts'
import { costOf } from '../../configuration/model-schema.ts'
import type { AgentConfig } from '../../configuration/schema.ts'
import { maxDurations, type ToolUse } from '../reports/series.ts'
import type { MessageData, UsageEntry } from '../../sessions/message.ts'

/** Stores the end of a run, then appends the `end` event to the log. Resolves to the next run in the session queue. */
export async function finish(
  run: LiveRun,
  progress: Progress,
  error: ErrorBody | undefined,
  deps: ExecutionPorts,
): Promise<NextRun | undefined> {
  const endedAt = deps.now()
  run.trace.close(endedAt)
  run.recordTimes()
  const [end, ended] = toEnd(run, progress, endedAt, error, deps)
  try {
    // A repeat continues from the last checkpoint and repeats no finished call.
    if (ended.continuable && hasUnstored(progress)) await checkpoint(run, progress, deps.store)
    const next = await run.times.during('store', () => deps.store.finish(run.key, run.fence, ended))
    if (ended.settlements) run.meter?.settled(ended.settlements)
    run.log.append(end)
    if (ended.jobs.length > 0) deps.jobs.wake(...ended.jobs.map(({ kind }) => kind))
    return next
  } catch (cause) {
    if (cause instanceof FenceLost) throw cause
    throw new EndNotStored(...toEnd(run, progress, deps.now(), toErrorBody(cause), deps), cause)
  }
}

/** The last event of a run, and what the store keeps of the run. */
function toEnd(run: LiveRun, progress: Progress, at: number, error: ErrorBody | undefined, deps: ExecutionPorts): [EndEvent, EndedRun] {
  const { agent, log } = run
  const { usage, steps, messages, turn } = progress
  // A failed run has no ai message, so its files belong to no answer.
  const made = error ? [] : artifactsOf(progress)
  const output = () => outputOf(log.events.slice())
  const mayCite = !error && (steps.length > 0 || messages.some((message) => message.role === 'assistant' && message.sources))
  const citations = mayCite ? [...citationsOf(output, steps), ...citationsOfSources(output, progress)] : []
  const end: EndEvent = {
    type: 'end',
    at,
    reason: error ? reasonOfError(error) : progress.end.reason,
    usage: toUsage(usage.models, steps, agent),
    thoughts: usage.thoughts,
    ...(made.length > 0 && { files: { folder: turn.session, made } }),
    ...(citations.length > 0 && { citations }),
    ...(progress.end.structured && !error ? { structured: true } : {}),
    ...(error ? { error } : {}),
  }
  return [end, toEndedRun(run, progress, end, at, deps)]
}

/** The end of a run could not be stored, so the run ends in an error: `end` goes to the readers now, `ended` to the store later. */
export class EndNotStored extends Error {
  readonly end: EndEvent
  readonly ended: EndedRun

  constructor(end: EndEvent, ended: EndedRun, cause: unknown) {
    super('The end of a run could not be stored.', { cause })
    this.name = 'EndNotStored'
    this.end = end
    this.ended = ended
  }
}

function toEndedRun(run: LiveRun, progress: Progress, end: EndEvent, endedAt: number, deps: ExecutionPorts): EndedRun {
  const { agent, log, request } = run
  const { turn, usage, steps } = progress
  const events = log.events.slice().concat(end)
  const model = usage.models.at(-1)?.model ?? agent.model.name
  const message = end.error ? undefined : toAiMessage(run, progress, { events, end, model, endedAt })
  const costs = end.usage.filter(({ unit }) => unit === 'USD')
  return {
    session: turn.session,
    status: statusOfEnd(end.reason),
    finishReason: end.reason,
    // The end of an async run is reported to the caller and therefore final.
    continuable: !run.isAsync && (end.error !== undefined || (end.reason === 'cancelled' && run.stopCause === 'disconnected')),
    request,
    model,
    ...totalsOf(usage.models),
    latencyMs: run.elapsedMs(endedAt),
    endedAt,
    error: end.error,
    log: toLog(run, events),
    message,
    messageCount: turn.messageCount + (message ? 1 : 0),
    checkpointId: deps.newId(),
    hadCheckpoints: progress.checkpoints > 0,
    dropsResultImages:
      message?.data?.transcript === undefined && steps.length > 0 && progress.deliveries === 0 && ownResultImages(progress).length > 0,
    jobs: toJobs(run, progress, message, deps),
    configVersion: agent.version,
    cost: costs.length === 0 ? undefined : costs.reduce((sum, entry) => sum + entry.usage, 0),
    tools: steps.length === 0 ? [] : toolsOf(steps),
    settlements: run.meter && settlementsOf(run.meter),
    // Where the checkpoints could not be read, the ledger knows whether calls are open.
    acts: (progress.openCalls?.size ?? 0) > 0 || (run.fence > 1 && !progress.isRestored) ? actsAtEnd(run, deps) : undefined,
  }
}

function toLog({ input, log, request, trace }: LiveRun, events: readonly LoggedEvent[]): CompactLog {
  const stored: CompactLog = { input, events: toCompact(events), trace: trace.all() }
  if (log.restoredAt !== undefined) stored.restoredAt = log.restoredAt
  if (request.callbackLinks) stored.callbackLinks = true
  if (request.echo) stored.echo = request.echo
  if (request.responseSchema) stored.hasSchema = true
  return stored
}

interface Ended {
  /** The events of the log, with the end if there is one. */
  events: readonly LoggedEvent[]
  /** Undefined while the run goes on. */
  end: EndEvent | undefined
  model: string
  endedAt: number
}

/** The answer since the last message of a person, or since the question. A cancelled run, and a part without `end`, have an ai message if there was any output. */
function toAiMessage(run: LiveRun, progress: Progress, { events, end, model, endedAt }: Ended): NewMessage | undefined {
  const { key, request } = run
  const whole = { events, messages: progress.messages.slice(progress.ownFrom - 1), thoughts: progress.usage.thoughts }
  const part = progress.deliveries === 0 ? whole : lastPart(whole)
  const content = outputOf(events)
  const artifacts = end?.files?.made ?? []
  const steps = stepsOf(part.events, part)
  const mayBeEmpty = end !== undefined && end.reason !== 'cancelled'
  if (!mayBeEmpty && content === '' && steps.length === 0 && artifacts.length === 0) return undefined
  const valid = repair(part.messages)
  const hasInstructions = valid.some((message) => message.role === 'user' && message.instruction !== undefined)
  const runMessages = hasInstructions ? withoutRepairs(valid) : valid
  // Later turns show the model a partial answer exactly as the reader received the answer.
  const last = runMessages.at(-1)
  const isComplete = (last?.role === 'assistant' && last.text === content) || (!end && content === '')
  const complete = isComplete ? runMessages : [...runMessages, { role: 'assistant' as const, text: content, toolCalls: [] }]
  // Plans matter only within a run.
  const hasPlan = hasInstructions && runMessages.some(isOfPlan)
  const transcript = hasPlan ? undefined : toStoredTranscript(complete)
  const planning = hasPlan ? planningOf(whole.messages) : []
  const thoughts = part.thoughts.filter((step) => step.subAgent === undefined)
  const data: MessageData = { requestId: key.requestId, model }
  if (request.filters.length > 0) data.hints = hintNames(request.filters)
  if (end) Object.assign(data, { finishReason: end.reason, usage: end.usage })
  if (steps.length > 0) data.steps = steps.map(toAnswerStep)
  if (artifacts.length > 0) data.artifacts = [...artifacts]
  if (thoughts.length > 0) data.reasoning = thoughts.map(({ log }) => log)
  if (end && planning.length > 0) data.planning = planning
  if (end?.citations) data.citations = end.citations
  if (transcript) data.transcript = transcript
  const taint = progress.containment && taintOfRun(run, progress)
  if (taint) data.taint = taint
  return { role: 'ai', content, createdAt: endedAt, data }
}

/** Taint of everything shown to the model: an answer may repeat any part. */
function taintOfRun({ agent }: LiveRun, { containment, messages, steps }: Progress): Taint | undefined {
  const tools = agent.tools.list().flatMap(({ tool }) => tool ?? [])
  const toolsByName = nameTools(tools)
  // A reply that was cut off is no message, but its text is in the answer.
  const ofProvider = steps.filter(({ isOfProvider }) => isOfProvider)
  const ofSteps = ofProvider.map(({ id, tool }) => taintOfCall(tool, marksOf(findTool(toolsByName, tool) ?? {}), id))
  return containment && joinTaints(containment.inherited, taintOfMessages(messages, toolsByName), ...ofSteps)
}

/** What the session keeps when a message of a person reaches the run: the answer since the message before, if there is any, and the message. */
export function messagesUpTo({ id, text, at }: UserMessageEvent, run: LiveRun, progress: Progress): NewMessage[] {
  const model = progress.usage.models.at(-1)?.model ?? run.agent.model.name
  // The message itself is the last of the transcript.
  const before = { ...progress, messages: progress.messages.slice(0, -1) }
  const answer = toAiMessage(run, before, { events: [...run.log.events], end: undefined, model, endedAt: at })
  const message: NewMessage = { role: 'human', content: text, createdAt: at, data: { requestId: run.key.requestId, messageId: id } }
  return answer ? [answer, message] : [message]
}

/** A part of a run: the session keeps each as one ai message. */
interface RunPart {
  events: readonly LoggedEvent[]
  /** The question, or the message of a person that begins the part, and what is behind it. */
  messages: readonly Message[]
  thoughts: readonly Step[]
}

/** The part behind the last message of a person. */
function lastPart({ events, messages, thoughts }: RunPart): RunPart {
  const begin = events.findLastIndex(({ type }) => type === 'user_message')
  const event = events[begin]
  const since = event?.type === 'user_message' ? event.at : 0
  return {
    events: events.slice(begin + 1),
    messages: messages.slice(messages.findLastIndex(isSteer)),
    thoughts: thoughts.filter(({ startedAt }) => startedAt >= since),
  }
}

/** Jobs that follow the run: callback, memory, summary. */
function toJobs(run: LiveRun, { turn, history }: Progress, message: NewMessage | undefined, { newId, now }: ExecutionPorts): NewJob[] {
  const { key, sessionId, request, agent } = run
  const { tenant, owner, requestId } = key
  const { session, windowStart, messageIndex, messageCount } = turn
  const jobs: NewJob[] = request.hasCallback ? [callbackJob(key, { id: newId(), round: 0, now: now() })] : []
  if (request.retain && message)
    jobs.push({ id: newId(), kind: 'retain', tenant, data: { owner, requestId, session, sessionId, messageIndex }, dueAt: now() })
  const sized = history.filter(({ idx }) => idx >= windowStart).map(toSizedMessage)
  if (message) sized.push(toSizedMessage({ idx: messageCount, role: 'ai', content: message.content, data: message.data }))
  const upTo = nextWindowStart(sized, agent.config.memory.history_tokens)
  // The id is the same for the same window, so the runs of a session add no second job while the first is queued.
  const id = `summary:${session}:${windowStart}`
  if (upTo > windowStart) jobs.push({ id, kind: 'summary', tenant, data: { session, upTo }, dueAt: now() })
  return jobs
}

/** Limit of the provider data of one turn in the session, in characters of JSON. Beyond it, the oldest data is dropped. */
export const maxVendorCharacters = 256 * 1024

/**
 * The transcript of a turn as the session stores it, without the question, which is stored separately; undefined for a plain answer, whose
 * text says all. Reasoning matters only within a run. Data of the provider is kept: later requests must repeat it.
 *
 * Data of old turns is not dropped by age. The window drops whole turns in large steps; data that went one question after the other would
 * change the beginning of every prompt, and no prompt cache would be hit.
 */
export function toStoredTranscript(messages: readonly Message[]): Message[] | undefined {
  const answer = messages.slice(1)
  const vendors = vendorsToKeep(answer)
  if (answer.length < 2 && !vendors) return undefined
  return answer.map((message) => toStored(message, vendors))
}

function toStored(message: Message, vendors: ReadonlySet<AssistantMessage['vendor']> | undefined): Message {
  if (message.role !== 'assistant') return withoutImageBytes(message)
  const { role, text, toolCalls, vendor } = message
  return vendor && vendors?.has(vendor) ? { role, text, toolCalls, vendor } : { role, text, toolCalls }
}

/** The newest data that fits into the limit; undefined for none. Data is kept whole or not at all. */
function vendorsToKeep(messages: readonly Message[]): Set<AssistantMessage['vendor']> | undefined {
  const vendors: AssistantMessage['vendor'][] = []
  for (const message of messages) if (message.role === 'assistant' && message.vendor) vendors.push(message.vendor)
  let characters = 0
  const tooOld = vendors.findLastIndex((vendor) => (characters += JSON.stringify(vendor).length) > maxVendorCharacters)
  return tooOld + 1 < vendors.length ? new Set(vendors.slice(tooOld + 1)) : undefined
}

/** Files from the tools and the models of a run, in order of creation. An agent inside of a call and the call may both report the same file. */
export function artifactsOf({ steps, messages, ownFrom, nested }: Progress): Artifact[] {
  const made: Artifact[] = []
  const add = (message: Message) => message.role === 'assistant' && message.artifacts && made.push(...message.artifacts)
  for (const step of steps) if (step.artifacts) made.push(...step.artifacts)
  for (let at = ownFrom; at < messages.length; at++) add(messages[at]!)
  for (const { message } of nested) add(message)
  if (made.length === 0) return made
  return [...new Map(made.map((artifact) => [artifact.id, artifact])).values()].sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** Usage of a run: tokens per model, seconds per tool, and USD where prices are known. */
export function toUsage(calls: readonly ModelUsage[], steps: readonly Step[], { config, findPrices }: Priced): UsageEntry[] {
  const usage: UsageEntry[] = []
  for (const [model, ofModel] of byModel(calls)) {
    const { input, output, cachedInput, cacheWrite, reasoning } = ofModel.reduce(addUsage)
    const details = { input, output, cached_input: cachedInput, ...(cacheWrite && { cache_write: cacheWrite }), reasoning }
    usage.push({ costAttribute: model, usage: input + output, unit: 'tokens', details })
    let cost: number | undefined
    // A call has a price of its own: a long call may cost more for each token, and two models of one name may differ.
    for (const call of ofModel) {
      const prices = findPrices(model, call.place)
      if (prices) cost = (cost ?? 0) + costOf(call, prices)
    }
    if (cost !== undefined) usage.push({ costAttribute: model, usage: cost, unit: 'USD' })
  }
  return steps.length === 0 ? usage : [...usage, ...toolUsage(steps), ...toolCosts(steps, config.tools)]
}

/** Most runs call one model once. */
function byModel(calls: readonly ModelUsage[]): [model: string, calls: readonly ModelUsage[]][] {
  return calls.length === 1 ? [[calls[0]!.model, calls]] : [...Map.groupBy(calls, ({ model }) => model)]
}

interface Priced extends Pick<Agent, 'findPrices'> {
  config: Pick<AgentConfig, 'tools'>
}

/** The tools that the steps have called, each once. */
function toolsOf(steps: readonly Step[]): ToolUse[] {
  const uses: ToolUse[] = []
  for (const { tool, status, durationMs } of callsOf(steps)) {
    let use = uses.find((entry) => entry.tool === tool)
    if (!use) uses.push((use = { tool, calls: 0, errors: 0, durationsMs: [] }))
    use.calls++
    if (status === 'error') use.errors++
    if (use.durationsMs.length < maxDurations) use.durationsMs.push(Math.round(durationMs))
  }
  return uses
}

function callsOf(steps: readonly Step[]): Step[] {
  return steps.filter((step) => step.type === 'tool_call' || step.type === 'sub_agent_call')
}

function toolUsage(steps: readonly Step[]): UsageEntry[] {
  const perTool = new Map<string, number>()
  for (const step of callsOf(steps)) perTool.set(step.tool, (perTool.get(step.tool) ?? 0) + step.durationMs)
  return [...perTool].map(([tool, ms]) => ({ costAttribute: `tool:${tool}`, usage: ms / 1000, unit: 'seconds' }))
}

/** USD of the calls that the provider ran, for tools with a price. Providers do not bill failed calls. */
function toolCosts(steps: readonly Step[], tools: AgentConfig['tools']): UsageEntry[] {
  const calls = steps.filter(({ isOfProvider, status }) => isOfProvider && status === 'success')
  if (calls.length === 0) return []
  return tools.flatMap(({ name, config }): UsageEntry[] => {
    const price = config?.['price']
    const count = calls.filter(({ tool }) => tool === name).length
    return typeof price === 'number' && count > 0 ? [{ costAttribute: `tool:${name}`, usage: price * count, unit: 'USD' }] : []
  })
}

export function totalsOf(calls: readonly ModelUsage[]): { promptTokens: number; completionTokens: number } {
  return {
    promptTokens: calls.reduce((sum, call) => sum + call.input, 0),
    completionTokens: calls.reduce((sum, call) => sum + call.output, 0),
  }
}
