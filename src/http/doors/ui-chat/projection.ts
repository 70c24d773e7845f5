import type { PendingCall } from '../../../agent/approval.ts'
import type { EndReason, Step } from '../../../agent/events.ts'
import type { JsonValue } from '../../../agent/messages.ts'
import type { AnswerFile } from '../../../artifacts/answer-files.ts'
import { toCallId } from '../../../agent/suspension.ts'
import { fieldsOf } from '../../../json/shape.ts'
import { interruptReason } from '../../../runs/approvals/approval-view.ts'
import { errorOf } from '../../../runs/log/outcome.ts'
import type { OpenRun } from '../../../runs/open-run.ts'
import { lastReceived, type RunPart } from '../../../runs/parts.ts'
import { isLastEvent, type LastEvent, type LoggedEvent } from '../../../runs/run.ts'
import { PlanProgress } from '../plan-progress.ts'
import type { ToChunk } from '../../projection.ts'
import { StreamedTexts, type TextForm, type TextKind } from '../streamed-texts.ts'
import { toMediaType } from '../../../artifacts/media-type.ts'
import type { Citation } from '../../../sessions/message.ts'

/** What the page has of a run that it resumes. */
export interface ResumedMessage extends RunPart {
  /** Ids of calls that the user has rejected. */
  rejected: ReadonlySet<string>
}

/**
 * Renders a run as a UI message stream (version 1) of the AI SDK, from `start` to `[DONE]`. The id of the message is derived from the run, so that a
 * page that resumes a run replaces the message that it has. Tools of the agent are dynamic, as the page does not know their types.
 */
export function uiMessageOf({ requestId, hasSchema }: Pick<OpenRun, 'requestId' | 'hasSchema'>, resumed?: ResumedMessage): ToChunk {
  const texts = new StreamedTexts(toTextPart, { isHeld: hasSchema })
  const plan = new PlanProgress()
  const left = new Set(resumed?.open.map(({ callId }) => callId))
  const started = new Set(left)
  /** Calls whose output comes from the page. */
  const answered = new Set<string>()
  let isStepOpen = false
  /** A tool has ended, so the next text belongs to a new call of the model. */
  let hasResult = false

  /** Begins a step of the message: a call of the model with its tool calls. */
  function step(): string {
    if (isStepOpen && !hasResult) return ''
    const closing = closeStep()
    isStepOpen = true
    return closing + toPart('start-step')
  }

  function closeStep(): string {
    const closing = isStepOpen ? toPart('finish-step') : ''
    isStepOpen = hasResult = false
    return closing
  }

  function toParts(event: LoggedEvent): string {
    switch (event.type) {
      case 'text':
        return toPlan(event) + texts.take(event, step)
      case 'retrying':
        return texts.interrupt(event)
      case 'step_start':
        return texts.interrupt(event) + toPlan(event) + (event.step.type === 'planning' ? '' : toInput(event.step))
      case 'step_end':
        return texts.interrupt(event) + toPlan(event) + (event.step.type === 'planning' ? '' : toOutput(event.step))
      case 'interrupt':
        return texts.interrupt(event) + toPlan(event)
      case 'end':
        return texts.end(event, step) + toPlan(event)
    }
  }

  function toPlan(event: LoggedEvent): string {
    return plan.take(event) ? toPart('data-plan', { id: 'plan', data: { steps: plan.steps } }) : ''
  }

  function toInput({ id: toolCallId, tool: toolName, input, subAgent }: Requested, traits: object = ownTool): string {
    if (started.has(toolCallId)) return ''
    started.add(toolCallId)
    // A call that follows a result may belong to the same call of the model, so it begins no step.
    const opening = isStepOpen ? '' : step()
    const title = subAgent === undefined ? undefined : `${subAgent}: ${toolName}`
    return opening + toPart('tool-input-available', { toolCallId, toolName, input, title, ...traits })
  }

  function toOutput({ id: toolCallId, status, output }: Step): string {
    hasResult = true
    if (answered.has(toolCallId)) return ''
    if (resumed?.rejected.has(toolCallId)) return toPart('tool-output-denied', { toolCallId })
    if (status === 'success') return toPart('tool-output-available', { toolCallId, output, ...ownTool })
    return toPart('tool-output-error', { toolCallId, errorText: errorTextOf(output), ...ownTool })
  }

  function toLast(event: LastEvent, files: readonly AnswerFile[] = []): string {
    const rest = toParts(event)
    if (event.type === 'interrupt') return rest + toRequests(event.calls) + closeStep() + finish('tool-calls', interruptReason(event.calls))
    const error = errorOf(event)
    if (event.reason === 'cancelled') return rest + toPart('abort', { reason: error?.body }) + done
    if (error) return rest + toPart('error', { errorText: error.body }) + done
    return rest + toSources(event.citations) + files.map(toFile).join('') + closeStep() + finish(finishReasons[event.reason], event.reason)
  }

  /**
   * The page runs its own tools, and the user decides on calls of the agent's. Another person decides on the calls `by: role`, so the page shows
   * them without a request.
   */
  function toRequests(calls: readonly PendingCall[]): string {
    const open = left.size > 0 ? calls.filter(({ callId }) => left.has(callId)) : calls
    return open
      .map(({ callId, tool, input, by }) => {
        if (by === 'client') return toInput({ id: callId, tool, input }, {})
        const toolCallId = toCallId(callId)
        const request = by === 'caller' ? toPart('tool-approval-request', { approvalId: callId, toolCallId }) : ''
        return toInput({ id: toolCallId, tool, input }, by === 'caller' ? approvedTool : ownTool) + request
      })
      .join('')
  }

  function finish(finishReason: string, reason: string): string {
    return toPart('finish', { finishReason, messageMetadata: { request_id: requestId, finish_reason: reason } }) + done
  }

  for (const event of resumed?.before.slice(0, lastReceived(resumed)) ?? []) {
    toParts(event)
    if (event.type !== 'interrupt') continue
    for (const { callId, by } of event.calls) {
      started.add(callId)
      if (by === 'client') answered.add(callId)
    }
  }
  // The stream before has ended its parts.
  texts.interrupt({ type: 'retrying' })
  isStepOpen = hasResult = false
  let isFirst = true
  return (_number, event, isLast, files) => {
    const beginning = isFirst ? toPart('start', { messageId: `msg_${requestId}` }) : ''
    isFirst = false
    return beginning + (isLast && isLastEvent(event) ? toLast(event, files) : toParts(event))
  }
}

/** A call of a tool. */
type Requested = Pick<Step, 'id' | 'tool' | 'input' | 'subAgent'>

/** The service runs the tool: the page must neither run nor answer it. */
const ownTool = { providerExecuted: true, dynamic: true }

/** A call that the user decides on. With `providerExecuted`, pages would send their answers to other calls before the decision. */
const approvedTool = { dynamic: true }

const done = 'data: [DONE]\n\n'

/** The finish reasons of the AI SDK. */
const finishReasons: Record<EndReason, string> = {
  stop: 'stop',
  length: 'length',
  content_filter: 'content-filter',
  max_iterations: 'other',
  timeout: 'other',
  cancelled: 'other',
  error: 'error',
  schema_mismatch: 'error',
}

function errorTextOf(output: JsonValue): string {
  const { error } = fieldsOf(output)
  return typeof error === 'string' ? error : JSON.stringify(output)
}

/** Parts of the UI message stream for what an answer rests on, and for what it brings. */

/** A part for each quoted place of a document and for each web page; one place may support several parts of the answer. */
export function toSources(citations: readonly Citation[] = []): string {
  const places = new Map<string, Citation[]>()
  for (const citation of citations) {
    const { file, documentId, url, start, end } = citation
    const place = url ?? `${documentId ?? file}#${start}-${end}`
    places.set(place, [...(places.get(place) ?? []), citation])
  }
  return [...places].map(([sourceId, cited]) => toSource(sourceId, cited)).join('')
}

function toSource(sourceId: string, cited: readonly Citation[]): string {
  const { file, url, title, tool, documentId, heading, page, text, start, end } = cited[0]!
  const answer = cited.map(({ answerStart, answerEnd }) => ({ start: answerStart, end: answerEnd }))
  if (url !== undefined) return toPart('source-url', { sourceId, url, title, providerMetadata: { 'agent-core': { tool, text, answer } } })
  return toPart('source-document', {
    sourceId,
    mediaType: toMediaType('', file),
    title: [file, heading].filter(Boolean).join(', '),
    filename: file,
    providerMetadata: { 'agent-core': { document_id: documentId, heading, page, text, start, end, answer } },
  })
}

/** Files without a link, for keys that may not read files, are left out. */
export function toFile({ artifact_id, file_name, file_type, download_url: url }: AnswerFile): string {
  if (url === undefined) return ''
  if (file_type.startsWith('image/')) return toPart('file', { url, mediaType: file_type })
  return toPart('source-url', { sourceId: artifact_id, url, title: file_name })
}

/** A part of the UI message stream as a server-sent event. */
export function toPart(type: string, fields: object = {}): string {
  return `data: ${JSON.stringify({ type, ...fields })}\n\n`
}

/** A text of a run as a part that is streamed. */
export function toTextPart(kind: TextKind, number: number): TextForm {
  const id = String(number)
  return {
    opening: toPart(`${kind}-start`, { id }),
    delta: `data: {"type":"${kind}-delta","id":"${id}","delta":`,
    closing: toPart(`${kind}-end`, { id }),
  }
}
