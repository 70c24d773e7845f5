import type { PendingCall } from '../../../agent/approval.ts'
import type { AnswerFile } from '../../../artifacts/answer-files.ts'
import { isQuestionId } from '../../../agent/suspension.ts'
import { errorOf } from '../../../runs/log/outcome.ts'
import { lastReceived, wholeRun, type RunPart } from '../../../runs/parts.ts'
import { isLastEvent, type InterruptEvent, type LastEvent, type LoggedEvent } from '../../../runs/run.ts'
import { fileFields } from '../openai/output.ts'
import type { ToChunk } from '../../projection.ts'
import { StreamedTexts, type ToTextForm } from '../streamed-texts.ts'
import { Calls, PlanEvents } from './calls.ts'
import { toEvent } from './event-text.ts'
import { toInterrupt } from './interrupts.ts'
import type { TokenUsage } from '@ag-ui/core'
import type { UsageEntry } from '../../../sessions/message.ts'

const protocolVersion = '1.0'

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

/** Renders a run as events of AG-UI 1.0, from `RUN_STARTED` to `RUN_FINISHED` or `RUN_ERROR`. `part`: the part behind the answers of the client. */
export function agUiEventsOf({ threadId, runId, requestId, hasSchema, state }: AgUiRun, part = wholeRun): ToChunk {
  const messages = new StreamedTexts(messagesOf(requestId), { isHeld: hasSchema })
  const plan = new PlanEvents(state)
  const passed = part.before.slice(0, lastReceived(part))
  const calls = new Calls(waitingCalls(passed, part.open))
  const earlierUsage = passed.findLast((event) => event.type === 'interrupt')?.usage ?? []

  function toEvents(event: LoggedEvent): string {
    switch (event.type) {
      case 'text':
        return plan.take(event) + messages.take(event)
      case 'retrying':
        return messages.interrupt(event)
      case 'step_start':
        return messages.interrupt(event) + plan.take(event) + (event.step.type === 'planning' ? '' : calls.start(event.step))
      case 'step_end':
        return messages.interrupt(event) + plan.take(event) + (event.step.type === 'planning' ? '' : calls.end(event.step))
      case 'interrupt':
        return messages.interrupt(event) + plan.take(event) + plan.end()
      case 'end':
        return messages.end(event) + plan.take(event) + plan.end()
    }
  }

  function toLast(event: LastEvent, files: readonly AnswerFile[] | undefined): string {
    const rest = toEvents(event)
    const usage = toTokenUsage(event.usage, earlierUsage)
    if (event.type === 'interrupt') return rest + toInterruption(event, usage)
    if (event.reason === 'cancelled') return rest + toEvent('RUN_FINISHED', { threadId, runId, outcome: { type: 'cancelled' }, usage })
    const error = errorOf(event)
    if (error) return rest + toEvent('RUN_ERROR', { message: error.body, ...codeOf(error.details), usage })
    const result = { finish_reason: event.reason, ...valueField(messages.heldAnswer(event)), ...fileFields(files) }
    return rest + toEvent('RUN_FINISHED', { threadId, runId, result, outcome: { type: 'success' }, usage })
  }

  /** A run that waits for tools of the client alone is complete for the protocol: the next request has their results. */
  function toInterruption(event: InterruptEvent, usage: ReturnType<typeof toTokenUsage>): string {
    const open = openOf(event.calls, part)
    const requests = open.map((call) => (isQuestionId(call.callId) ? '' : calls.request(call.callId, call.tool, call.input))).join('')
    const interrupts = open.filter(({ by }) => by !== 'client').map(toInterrupt)
    const pendingToolCallIds = open.map(({ callId }) => callId)
    const outcome = interrupts.length > 0 ? { type: 'interrupt' as const, interrupts } : { type: 'success' as const, pendingToolCallIds }
    return requests + calls.suspend() + toEvent('RUN_FINISHED', { threadId, runId, outcome, usage })
  }

  for (const event of passed) toEvents(event)
  // The stream before has ended its messages.
  messages.interrupt({ type: 'retrying' })
  const metadata = { request_id: requestId }
  const beginning = toEvent('RUN_STARTED', { threadId, runId, protocolVersion, metadata }) + calls.resume() + plan.begin()
  let isFirst = true
  return (_number, event, isLast, files) => {
    const events = isLast && isLastEvent(event) ? toLast(event, files) : toEvents(event)
    if (!isFirst) return events
    isFirst = false
    return beginning + events
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

/** The texts of a run as messages of AG-UI. */
export function messagesOf(requestId: string): ToTextForm {
  return (kind, number) => {
    const messageId = `msg_${requestId}_${number}`
    const deltaOf = (type: string) => `data: {"type":"${type}","messageId":${JSON.stringify(messageId)},"delta":`
    if (kind === 'text') {
      return {
        opening: toEvent('TEXT_MESSAGE_START', { messageId, role: 'assistant' }),
        delta: deltaOf('TEXT_MESSAGE_CONTENT'),
        closing: toEvent('TEXT_MESSAGE_END', { messageId }),
      }
    }
    return {
      opening: toEvent('REASONING_START', { messageId }) + toEvent('REASONING_MESSAGE_START', { messageId, role: 'reasoning' }),
      delta: deltaOf('REASONING_MESSAGE_CONTENT'),
      closing: toEvent('REASONING_MESSAGE_END', { messageId }) + toEvent('REASONING_END', { messageId }),
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
