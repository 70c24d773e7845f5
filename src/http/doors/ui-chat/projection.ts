import { type PendingCall, toCallId } from '../../../agent/approval.ts'
import type { ProgressEvent } from '../../../agent/events.ts'
import type { EndReason, Step } from '../../../agent/events.ts'
import type { JsonValue } from '../../../agent/messages.ts'
import type { AnswerFile } from '../../../artifacts/answer-files.ts'
import { toMediaType } from '../../../artifacts/file-name.ts'
import { fieldsOf } from '../../../json/shape.ts'
import { interruptReason } from '../../../runs/approvals/approval-view.ts'
import { errorOf } from '../../../runs/log/outcome.ts'
import type { OpenRun } from '../../../runs/open-run.ts'
import { lastReceived, wholeRun, type RunPart } from '../../../runs/parts.ts'
import type { EndEvent, LastEvent, LoggedEvent } from '../../../runs/run.ts'
import type { Citation } from '../../../sessions/message.ts'
import { doneText, toData, type Projection } from '../../send-run.ts'
import { PlanProgress } from '../plan-progress.ts'
import { StreamedTexts, type ToTextForm } from '../texts.ts'

/** A part of the UI message stream; `done` ends the stream. */
export type UiPart = { type: string } | 'done'

export function frameUiPart(part: UiPart): string {
  return part === 'done' ? doneText : toData(part)
}

function toPart(type: string, fields: object = {}): UiPart {
  return { type, ...fields }
}

interface UiMessageOptions {
  /** The part of the run that the page has answered the calls of. */
  part?: RunPart
  /** Ids of calls that the user has rejected. */
  rejected?: ReadonlySet<string>
}

/**
 * A run as a UI message stream (version 1) of the AI SDK, from `start` to `done`. The id of the message is derived from the run, so that a page
 * that resumes a run replaces the message that it has. Tools of the agent are dynamic, as the page does not know their types.
 */
export class UiMessageProjection implements Projection<UiPart> {
  private readonly requestId: string
  private readonly open: readonly PendingCall[]
  private readonly rejected: ReadonlySet<string>
  private readonly texts: StreamedTexts<UiPart>
  private readonly plan = new PlanProgress()
  private readonly started: Set<string>
  /** Calls whose output comes from the page. */
  private readonly answered = new Set<string>()
  private isStepOpen = false
  /** A tool has ended, so the next text belongs to a new call of the model. */
  private hasResult = false
  private isFirst = true

  constructor(
    { requestId, hasSchema }: Pick<OpenRun, 'requestId' | 'hasSchema'>,
    { part = wholeRun, rejected = new Set() }: UiMessageOptions = {},
  ) {
    this.requestId = requestId
    this.open = part.open
    this.rejected = rejected
    this.texts = new StreamedTexts(toTextForm, { isHeld: hasSchema })
    this.started = new Set(part.open.map(({ callId }) => callId))
    for (const event of part.before.slice(0, lastReceived(part))) this.pass(event)
    // The stream before has ended its parts.
    this.texts.interrupt({ type: 'retrying' })
    this.isStepOpen = this.hasResult = false
  }

  take(event: LoggedEvent): readonly UiPart[] {
    return this.begin(this.toParts(event))
  }

  last(event: LastEvent, _number: number, files: readonly AnswerFile[]): readonly UiPart[] {
    const parts = this.toParts(event)
    return this.begin([...parts, ...(event.type === 'interrupt' ? this.toInterruption(event.calls) : this.toEnd(event, files)), 'done'])
  }

  private begin(parts: readonly UiPart[]): readonly UiPart[] {
    if (!this.isFirst) return parts
    this.isFirst = false
    return [toPart('start', { messageId: `msg_${this.requestId}` }), ...parts]
  }

  /** Takes an event that the page has: the calls are started, and calls of the page have the output. */
  private pass(event: LoggedEvent): void {
    this.toParts(event)
    for (const { callId, by } of event.type === 'interrupt' ? event.calls : []) {
      this.started.add(callId)
      if (by === 'client') this.answered.add(callId)
    }
  }

  private toParts(event: LoggedEvent): readonly UiPart[] {
    const { texts } = this
    switch (event.type) {
      case 'text': {
        const planned = this.toPlan(event)
        const parts = texts.take(event, this.step)
        return planned.length === 0 ? parts : [...planned, ...parts]
      }
      case 'retrying':
        return texts.interrupt(event)
      case 'user_message':
        return [...texts.interrupt(event), toPart('data-user-message', { id: event.id, data: { text: event.text } })]
      case 'step_start':
        return [...texts.interrupt(event), ...this.toPlan(event), ...(event.step.type === 'planning' ? [] : this.toInput(event.step))]
      case 'step_end':
        return [...texts.interrupt(event), ...this.toPlan(event), ...(event.step.type === 'planning' ? [] : this.toOutput(event.step))]
      case 'interrupt':
        return [...texts.interrupt(event), ...this.toPlan(event)]
      case 'end':
        return [...texts.end(event, this.step), ...this.toPlan(event)]
    }
  }

  progress({ step, report }: ProgressEvent): UiPart[] {
    return [
      toPart('data-progress', {
        id: `progress-${step.id}`,
        data: { toolCallId: step.id, toolName: step.tool, ...report },
        transient: true,
      }),
    ]
  }

  private toPlan(event: LoggedEvent): UiPart[] {
    return this.plan.take(event) ? [toPart('data-plan', { id: 'plan', data: { steps: this.plan.steps } })] : []
  }

  /** Begins a step of the message: a call of the model with its tool calls. */
  private readonly step = (): UiPart[] => {
    if (this.isStepOpen && !this.hasResult) return []
    const closing = this.closeStep()
    this.isStepOpen = true
    return [...closing, toPart('start-step')]
  }

  private closeStep(): UiPart[] {
    const closing = this.isStepOpen ? [toPart('finish-step')] : []
    this.isStepOpen = this.hasResult = false
    return closing
  }

  private toInput({ id: toolCallId, tool: toolName, input, subAgent }: Requested, traits: object = ownTool): UiPart[] {
    if (this.started.has(toolCallId)) return []
    this.started.add(toolCallId)
    // A call that follows a result may belong to the same call of the model, so it begins no step.
    const opening = this.isStepOpen ? [] : this.step()
    const title = subAgent === undefined ? undefined : `${subAgent}: ${toolName}`
    return [...opening, toPart('tool-input-available', { toolCallId, toolName, input, title, ...traits })]
  }

  private toOutput({ id: toolCallId, status, output }: Step): UiPart[] {
    this.hasResult = true
    if (this.answered.has(toolCallId)) return []
    if (this.rejected.has(toolCallId)) return [toPart('tool-output-denied', { toolCallId })]
    if (status === 'success') return [toPart('tool-output-available', { toolCallId, output, ...ownTool })]
    return [toPart('tool-output-error', { toolCallId, errorText: errorTextOf(output), ...ownTool })]
  }

  /**
   * The page runs its own tools, and the user decides on calls of the agent's. Another person decides on the calls `by: role`, so the page shows
   * them without a request, and on a budget, which is no call.
   */
  private toInterruption(calls: readonly PendingCall[]): UiPart[] {
    const ids = new Set(this.open.map(({ callId }) => callId))
    const waiting = ids.size > 0 ? calls.filter(({ callId }) => ids.has(callId)) : calls
    const requests = waiting.flatMap(({ callId, tool, input, by }) => {
      if (by === 'client') return this.toInput({ id: callId, tool, input }, {})
      if (by === 'budget') return [toPart('data-budget', { id: callId, data: input })]
      const toolCallId = toCallId(callId)
      const request = by === 'caller' ? [toPart('tool-approval-request', { approvalId: callId, toolCallId })] : []
      return [...this.toInput({ id: toolCallId, tool, input }, by === 'caller' ? approvedTool : ownTool), ...request]
    })
    const isForBudgets = calls.every(({ by }) => by === 'budget')
    return [...requests, ...this.closeStep(), this.toFinish(isForBudgets ? 'other' : 'tool-calls', interruptReason(calls))]
  }

  private toEnd(event: EndEvent, files: readonly AnswerFile[]): UiPart[] {
    const error = errorOf(event)
    if (event.reason === 'cancelled') return [toPart('abort', { reason: error?.body })]
    if (error) return [toPart('error', { errorText: error.body })]
    const sources = [...toSources(event.citations), ...files.flatMap(toFile)]
    return [...sources, ...this.closeStep(), this.toFinish(finishReasons[event.reason], event.reason)]
  }

  private toFinish(finishReason: string, reason: string): UiPart {
    return toPart('finish', { finishReason, messageMetadata: { request_id: this.requestId, finish_reason: reason } })
  }
}

/** A call of a tool. */
type Requested = Pick<Step, 'id' | 'tool' | 'input' | 'subAgent'>

/** The service runs the tool: the page must neither run nor answer it. */
const ownTool = { providerExecuted: true, dynamic: true }

/** A call that the user decides on. With `providerExecuted`, pages would send their answers to other calls before the decision. */
const approvedTool = { dynamic: true }

/** The finish reasons of the AI SDK. */
const finishReasons: Record<EndReason, string> = {
  stop: 'stop',
  length: 'length',
  content_filter: 'content-filter',
  max_iterations: 'other',
  budget_exceeded: 'other',
  timeout: 'other',
  cancelled: 'other',
  error: 'error',
  schema_mismatch: 'error',
}

function errorTextOf(output: JsonValue): string {
  const { error } = fieldsOf(output)
  return typeof error === 'string' ? error : JSON.stringify(output)
}

const toTextForm: ToTextForm<UiPart> = (kind, number) => {
  const id = String(number)
  return {
    opening: [toPart(`${kind}-start`, { id })],
    delta: (delta) => toPart(`${kind}-delta`, { id, delta }),
    closing: [toPart(`${kind}-end`, { id })],
  }
}

/** A part for each quoted place of a document and for each web page; one place may support several parts of the answer. */
function toSources(citations: readonly Citation[] = []): UiPart[] {
  const places = new Map<string, Citation[]>()
  for (const citation of citations) {
    const { file, documentId, url, start, end } = citation
    const place = url ?? `${documentId ?? file}#${start}-${end}`
    places.set(place, [...(places.get(place) ?? []), citation])
  }
  return [...places].map(([sourceId, cited]) => toSource(sourceId, cited))
}

function toSource(sourceId: string, cited: readonly Citation[]): UiPart {
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
function toFile({ artifact_id, file_name, file_type, download_url: url }: AnswerFile): UiPart[] {
  if (url === undefined) return []
  if (file_type.startsWith('image/')) return [toPart('file', { url, mediaType: file_type })]
  return [toPart('source-url', { sourceId: artifact_id, url, title: file_name })]
}
