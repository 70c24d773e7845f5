import { isOfPlan, repair, withoutImageBytes, withoutRepairs } from '../../agent/history.ts'
import type { Step } from '../../agent/events.ts'
import { planningOf } from '../../agent/plan-position.ts'
import { toErrorBody, type ErrorBody } from '../../errors.ts'
import { ownResultImages } from '../attachments/result-images.ts'
import { callbackJob } from '../callbacks/callbacks.ts'
import { toCompact } from '../log/compact-log.ts'
import type { RunPorts } from './ports.ts'
import type { NewJob } from '../jobs.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import { citationsOf, citationsOfSources } from './citations.ts'
import { reasonOfError } from './answer-schema.ts'
import { outputOf, stepsOf, toAnswerStep } from '../log/outcome.ts'
import { artifactsOf, checkpoint, filesOf, hasToolResults, hasUnstored, type Progress } from './progress.ts'
import { statusOfEnd, type EndEvent } from '../run.ts'
import { FenceLost, type EndedRun, type NewMessage, type NextRun } from '../run-store.ts'
import { costOfRun, toolsOf, toUsage, totalsOf } from './usage.ts'
import { hintNames, nextWindowStart, toSizedMessage } from '../window/window.ts'
import type { AssistantMessage, Message } from '../../agent/messages.ts'

/** Stores the end of a run, then appends the `end` event to the log. Resolves to the next run in the session queue. */
export async function finish(run: LiveRun, progress: Progress, error: ErrorBody | undefined, deps: RunPorts): Promise<NextRun | undefined> {
  const endedAt = deps.now()
  const end = toEnd(run, progress, endedAt, error)
  run.trace.close(endedAt)
  run.recordTimes()
  const ended = toEndedRun(run, progress, end, deps)
  try {
    // A repeat continues from the last checkpoint and repeats no finished call.
    if (ended.continuable && hasUnstored(progress)) await checkpoint(run, progress, deps.store)
    const next = await run.times.during('store', () => deps.store.finish(run.key, run.fence, ended))
    run.log.append(end)
    if (ended.jobs.length > 0) deps.jobs.wake(...ended.jobs.map(({ kind }) => kind))
    return next
  } catch (cause) {
    if (cause instanceof FenceLost) throw cause
    const failed = toEnd(run, progress, deps.now(), toErrorBody(cause))
    throw new EndNotStored(failed, toEndedRun(run, progress, failed, deps), cause)
  }
}

/** The end of an executed run: `at` equals the stored end of the run. */
type FinalEnd = EndEvent & { at: number }

function toEnd({ agent, log }: LiveRun, progress: Progress, at: number, error: ErrorBody | undefined): FinalEnd {
  const { usage, steps } = progress
  const reason = error ? reasonOfError(error) : progress.end.reason
  const output = () => outputOf(log.events.slice())
  const citations = error ? [] : [...citationsOf(output, steps), ...citationsOfSources(output, progress)]
  return {
    type: 'end',
    at,
    reason,
    usage: toUsage(usage.models, steps, agent),
    thoughts: usage.thoughts,
    // A failed run has no ai message, so its files belong to no answer.
    ...(error ? {} : filesOf(progress)),
    ...(citations.length > 0 && { citations }),
    ...(progress.end.structured && !error ? { structured: true } : {}),
    ...(error ? { error } : {}),
  }
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

function toEndedRun(run: LiveRun, progress: Progress, end: FinalEnd, deps: RunPorts): EndedRun {
  const endedAt = end.at
  const message = toAiMessage(run, progress, end, endedAt)
  const { turn, usage } = progress
  const jobs = toJobs(run, progress, message, deps)
  return {
    session: turn.session,
    status: statusOfEnd(end.reason),
    finishReason: end.reason,
    // The end of an async run is reported to the caller and therefore final.
    continuable: !run.isAsync && (end.error !== undefined || (end.reason === 'cancelled' && run.stopCause === 'disconnected')),
    request: run.request,
    model: modelOf(run, progress),
    ...totalsOf(usage.models),
    latencyMs: run.elapsedMs(endedAt),
    endedAt,
    error: end.error,
    log: {
      input: run.input,
      events: toCompact([...run.log.events, end]),
      ...(run.log.restoredAt === undefined ? {} : { restoredAt: run.log.restoredAt }),
      ...(run.request.callbackLinks ? { callbackLinks: true } : {}),
      ...(run.request.echo ? { echo: run.request.echo } : {}),
      ...(run.request.responseSchema ? { hasSchema: true } : {}),
      trace: run.trace.all(),
    },
    message,
    messageCount: turn.messageCount + (message ? 1 : 0),
    checkpointId: deps.newId(),
    hadCheckpoints: progress.checkpoints > 0,
    dropsResultImages: message?.data?.transcript === undefined && hasToolResults(progress) && ownResultImages(progress).length > 0,
    jobs,
    configVersion: run.agent.version,
    cost: costOfRun(end.usage),
    tools: toolsOf(progress.steps),
  }
}

/** A failed run has no ai message. A cancelled run has an ai message if there was any output. */
function toAiMessage(run: LiveRun, progress: Progress, end: EndEvent, createdAt: number): NewMessage | undefined {
  const events = [...run.log.events, end]
  const content = outputOf(events)
  const artifacts = artifactsOf(progress)
  const steps = stepsOf(events, end)
  if (end.error) return undefined
  if (end.reason === 'cancelled' && content === '' && steps.length === 0 && artifacts.length === 0) return undefined
  const runMessages = withoutRepairs(repair(progress.messages.slice(progress.ownFrom - 1)))
  // Later turns show the model a partial answer exactly as the reader received the answer.
  const last = runMessages.at(-1)
  const complete =
    last?.role === 'assistant' && last.text === content
      ? runMessages
      : [...runMessages, { role: 'assistant' as const, text: content, toolCalls: [] }]
  const hasPlan = runMessages.some(isOfPlan)
  // Plans matter only within a run.
  const transcript = hasPlan ? undefined : toStoredTranscript(complete)
  const planning = hasPlan ? planningOf(runMessages) : []
  const thoughts = progress.usage.thoughts.filter((step) => step.subAgent === undefined)
  return {
    role: 'ai',
    content,
    createdAt,
    data: {
      requestId: run.key.requestId,
      model: modelOf(run, progress),
      ...(run.request.filters.length > 0 ? { hints: hintNames(run.request.filters) } : {}),
      finishReason: end.reason,
      usage: end.usage,
      ...(steps.length > 0 ? { steps: steps.map(toAnswerStep) } : {}),
      ...(artifacts.length > 0 ? { artifacts } : {}),
      ...(thoughts.length > 0 ? { reasoning: thoughts.map(textOfThought) } : {}),
      ...(planning.length > 0 ? { planning } : {}),
      ...(end.citations ? { citations: end.citations } : {}),
      ...(transcript ? { transcript } : {}),
    },
  }
}

/** Jobs that follow the run: callback, memory, summary. */
function toJobs(run: LiveRun, progress: Progress, message: NewMessage | undefined, { newId, now }: RunPorts): NewJob[] {
  const { key, sessionId, request } = run
  const { turn } = progress
  const { tenant, owner, requestId } = key
  const jobs: NewJob[] = request.hasCallback ? [callbackJob(key, { id: newId(), round: 0, now: now() })] : []
  if (request.retain && message) {
    const data = { owner, requestId, session: turn.session, sessionId, messageIndex: turn.messageIndex }
    jobs.push({ id: newId(), kind: 'retain', tenant, data, dueAt: now() })
  }
  const upTo = nextWindowOf(run, progress, message)
  // The id is the same for the same window, so the runs of a session add no second job while the first is queued.
  const id = `summary:${turn.session}:${turn.windowStart}`
  if (upTo > turn.windowStart) jobs.push({ id, kind: 'summary', tenant, data: { session: turn.session, upTo }, dueAt: now() })
  return jobs
}

function textOfThought(step: Step): string {
  return step.log
}

function modelOf(run: LiveRun, progress: Progress): string {
  return progress.usage.models.at(-1)?.model ?? run.agent.model.name
}

/** The start of the window after a summary now; the current start where no summary is due. */
function nextWindowOf(run: LiveRun, { turn, history }: Progress, message: NewMessage | undefined): number {
  const sized = history.filter(({ idx }) => idx >= turn.windowStart).map(toSizedMessage)
  if (message) sized.push(toSizedMessage({ idx: turn.messageCount, role: 'ai', content: message.content, data: message.data }))
  return nextWindowStart(sized, run.agent.config.memory.history_tokens)
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
  const [, ...answer] = messages
  const vendors = vendorsToKeep(answer)
  if (answer.length < 2 && vendors.size === 0) return undefined
  return answer.map((message) => toStored(message, vendors))
}

function toStored(message: Message, vendors: ReadonlySet<AssistantMessage['vendor']>): Message {
  if (message.role !== 'assistant') return withoutImageBytes(message)
  const { role, text, toolCalls, vendor } = message
  return vendor && vendors.has(vendor) ? { role, text, toolCalls, vendor } : { role, text, toolCalls }
}

/** The newest data that fits into the limit. Data is kept whole or not at all. */
function vendorsToKeep(messages: readonly Message[]): Set<AssistantMessage['vendor']> {
  const vendors = messages.flatMap((message) => (message.role === 'assistant' && message.vendor ? [message.vendor] : []))
  let characters = 0
  const tooOld = vendors.findLastIndex((vendor) => (characters += JSON.stringify(vendor).length) > maxVendorCharacters)
  return new Set(vendors.slice(tooOld + 1))
}
