import type { ProgressEvent } from '../../../agent/events.ts'
import type { TokenUsage } from '@ag-ui/core'
import { type PendingCall, isQuestionId } from '../../../agent/approval.ts'
import type { AnswerFile } from '../../../artifacts/answer-files.ts'
import { errorOf } from '../../../runs/log/outcome.ts'
import { lastReceived, wholeRun, type RunPart } from '../../../runs/parts.ts'
import type { EndEvent, InterruptEvent, LastEvent, LoggedEvent } from '../../../runs/run.ts'
import type { UsageEntry } from '../../../sessions/message.ts'
import type { Projection } from '../../send-run.ts'
import { fileFields } from '../model-apis/output.ts'
import { StreamedTexts, type ToTextForm } from '../texts.ts'
import { toInterrupt } from './interrupts.ts'
import { Calls, PlanEvents, toEvent, type AgUiEvent } from './steps.ts'

/** The names that a stream of AG-UI has for a run. */
export interface AgUiRun {
  threadId: string
  /** The run of the client: a resumed run has a new one for each request. */
  runId: string
  requestId: string
  /** True where the answer has a schema, and is sent at its end. */
  hasSchema: boolean
  /** The state of the page. */
  state?: unknown
}

const protocolVersion = '1.0'

/** A run as events of AG-UI 1.0, from `RUN_STARTED` to `RUN_FINISHED` or `RUN_ERROR`. */
export class AgUiProjection implements Projection<AgUiEvent> {
  private readonly run: AgUiRun
  private readonly part: RunPart
  private readonly messages: StreamedTexts<AgUiEvent>
  private readonly plan: PlanEvents
  private readonly calls: Calls
  private readonly earlierUsage: readonly UsageEntry[]
  /** Sent with the first event. */
  private beginning: readonly AgUiEvent[]

  /** `part`: the part behind the answers of the client. */
  constructor(run: AgUiRun, part: RunPart = wholeRun) {
    const { threadId, runId, requestId, hasSchema, state } = run
    const passed = part.before.slice(0, lastReceived(part))
    this.run = run
    this.part = part
    this.messages = new StreamedTexts(toMessageForm(requestId), { isHeld: hasSchema })
    this.plan = new PlanEvents(state)
    this.calls = new Calls(waitingCalls(passed, part.open))
    this.earlierUsage = passed.findLast((event) => event.type === 'interrupt')?.usage ?? []
    for (const event of passed) this.toEvents(event)
    // The stream before has ended its messages.
    this.messages.interrupt({ type: 'retrying' })
    const started = toEvent('RUN_STARTED', { threadId, runId, protocolVersion, metadata: { request_id: requestId } })
    this.beginning = [started, ...this.calls.resume(), ...this.plan.begin()]
  }

  take(event: LoggedEvent): readonly AgUiEvent[] {
    return this.begin(this.toEvents(event))
  }

  last(event: LastEvent, _number: number, files: readonly AnswerFile[]): readonly AgUiEvent[] {
    const events = this.toEvents(event)
    const usage = toTokenUsage(event.usage, this.earlierUsage)
    const ending = event.type === 'interrupt' ? this.toInterruption(event, usage) : [this.toEnd(event, files, usage)]
    return this.begin([...events, ...ending])
  }

  private begin(events: readonly AgUiEvent[]): readonly AgUiEvent[] {
    if (this.beginning.length === 0) return events
    const begun = [...this.beginning, ...events]
    this.beginning = []
    return begun
  }

  private toEvents(event: LoggedEvent): readonly AgUiEvent[] {
    const { messages, plan, calls } = this
    switch (event.type) {
      case 'text': {
        const planned = plan.take(event)
        return planned.length === 0 ? messages.take(event) : [...planned, ...messages.take(event)]
      }
      case 'retrying':
        return messages.interrupt(event)
      case 'user_message':
        return [...messages.interrupt(event), ...toUserMessage(event)]
      case 'step_start':
        return [...messages.interrupt(event), ...plan.take(event), ...(event.step.type === 'planning' ? [] : calls.start(event.step))]
      case 'step_end':
        return [...messages.interrupt(event), ...plan.take(event), ...(event.step.type === 'planning' ? [] : calls.end(event.step))]
      case 'interrupt':
        return [...messages.interrupt(event), ...plan.take(event), ...plan.end()]
      case 'end':
        return [...messages.end(event), ...plan.take(event), ...plan.end()]
    }
  }

  progress({ step, report }: ProgressEvent): AgUiEvent[] {
    return [toEvent('CUSTOM', { name: 'progress', value: { toolCallId: step.id, toolCallName: step.tool, ...report } })]
  }

  private toEnd(event: EndEvent, files: readonly AnswerFile[], usage: TokenUsage[]): AgUiEvent {
    const { threadId, runId } = this.run
    if (event.reason === 'cancelled') return toEvent('RUN_FINISHED', { threadId, runId, outcome: { type: 'cancelled' }, usage })
    const error = errorOf(event)
    if (error) return toEvent('RUN_ERROR', { message: error.body, ...codeOf(error.details), usage })
    const result = { finish_reason: event.reason, ...valueField(this.messages.heldAnswer(event)), ...fileFields(files) }
    return toEvent('RUN_FINISHED', { threadId, runId, result, outcome: { type: 'success' }, usage })
  }

  /** A run that waits for tools of the client alone is complete for the protocol: the next request has their results. */
  private toInterruption(event: InterruptEvent, usage: TokenUsage[]): AgUiEvent[] {
    const { threadId, runId } = this.run
    const open = openOf(event.calls, this.part)
    const requests = open.flatMap((call) =>
      isQuestionId(call.callId) || call.by === 'budget' ? [] : this.calls.request(call.callId, call.tool, call.input),
    )
    const interrupts = open.filter(({ by }) => by !== 'client').map(toInterrupt)
    const pendingToolCallIds = open.map(({ callId }) => callId)
    const outcome = interrupts.length > 0 ? { type: 'interrupt' as const, interrupts } : { type: 'success' as const, pendingToolCallIds }
    return [...requests, ...this.calls.suspend(), toEvent('RUN_FINISHED', { threadId, runId, outcome, usage })]
  }
}

/** The calls of passed interruptions: the client knows that they wait, and has run its own. */
function waitingCalls(passed: readonly LoggedEvent[], open: readonly PendingCall[]): { started: string[]; answered: string[] } {
  const calls = passed.flatMap((event) => (event.type === 'interrupt' ? event.calls : []))
  const idsOf = (all: readonly PendingCall[]) => all.map(({ callId }) => callId)
  return { started: idsOf([...calls, ...open]), answered: idsOf(calls.filter(({ by }) => by === 'client')) }
}

/** The calls of an interruption that wait: the client may have answered some. */
function openOf(calls: readonly PendingCall[], { open }: RunPart): readonly PendingCall[] {
  const ids = new Set(open.map(({ callId }) => callId))
  return ids.size > 0 ? calls.filter(({ callId, by }) => by === 'role' || ids.has(callId)) : calls
}

/** The value of an answer with a schema. */
function valueField(answer: string): { structured_output?: unknown } {
  return answer === '' ? {} : { structured_output: JSON.parse(answer) }
}

function codeOf(details: { error_type: string } | undefined): { code?: string } {
  return details ? { code: details.error_type } : {}
}

/** A message of a person to the running agent. A page that has sent the message knows it by the id. */
function toUserMessage({ id: messageId, text: delta }: Extract<LoggedEvent, { type: 'user_message' }>): AgUiEvent[] {
  const opening = toEvent('TEXT_MESSAGE_START', { messageId, role: 'user' })
  return [opening, toEvent('TEXT_MESSAGE_CONTENT', { messageId, delta }), toEvent('TEXT_MESSAGE_END', { messageId })]
}

/** The texts of a run as messages. */
function toMessageForm(requestId: string): ToTextForm<AgUiEvent> {
  return (kind, number) => {
    const messageId = `msg_${requestId}_${number}`
    if (kind === 'text') {
      return {
        opening: [toEvent('TEXT_MESSAGE_START', { messageId, role: 'assistant' })],
        delta: (delta) => toEvent('TEXT_MESSAGE_CONTENT', { messageId, delta }),
        closing: [toEvent('TEXT_MESSAGE_END', { messageId })],
      }
    }
    return {
      opening: [toEvent('REASONING_START', { messageId }), toEvent('REASONING_MESSAGE_START', { messageId, role: 'reasoning' })],
      delta: (delta) => toEvent('REASONING_MESSAGE_CONTENT', { messageId, delta }),
      closing: [toEvent('REASONING_MESSAGE_END', { messageId }), toEvent('REASONING_END', { messageId })],
    }
  }
}

/** The tokens of each model since `before`: a run that resumes another reports its own model calls alone. */
export function toTokenUsage(usage: readonly UsageEntry[], before: readonly UsageEntry[]): TokenUsage[] {
  return usage.flatMap(({ unit, costAttribute: model, details }) => {
    if (unit !== 'tokens' || !details) return []
    const earlier = before.find((entry) => entry.unit === 'tokens' && entry.costAttribute === model)?.details
    const inputTokens = details.input - (earlier?.input ?? 0)
    const outputTokens = details.output - (earlier?.output ?? 0)
    if (inputTokens + outputTokens === 0) return []
    const cacheWriteInputTokens = (details.cache_write ?? 0) - (earlier?.cache_write ?? 0)
    return [
      {
        model,
        inputTokens,
        outputTokens,
        totalTokens: inputTokens + outputTokens,
        cachedInputTokens: details.cached_input - (earlier?.cached_input ?? 0),
        ...(cacheWriteInputTokens > 0 && { cacheWriteInputTokens }),
        reasoningTokens: details.reasoning - (earlier?.reasoning ?? 0),
      },
    ]
  })
}
