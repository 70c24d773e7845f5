import type { ProgressEvent } from '../../../agent/events.ts'
import type { AnswerFile } from '../../../artifacts/answer-files.ts'
import type { EventLog, LogPosition } from '../../../runs/log/event-log.ts'
import { errorOf } from '../../../runs/log/outcome.ts'
import type { EndEvent, LastEvent, LoggedEvent } from '../../../runs/run.ts'
import { type LastReceived, positionIn, type Projection } from '../../send-run.ts'
import { PlanProgress } from '../plan-progress.ts'
import { toInterrupts } from './interrupts.ts'
import type { LangChainMessage } from './messages.ts'
import { type Change, RunMessages } from './run-messages.ts'
import { toErrorData } from './state.ts'

export const streamModes = ['values', 'updates', 'messages', 'messages-tuple', 'custom'] as const

export type StreamMode = (typeof streamModes)[number]

/** A server-sent event of LangGraph. The last event of a step has the id, by which a client resumes. */
export interface StreamEvent {
  event: string
  data: unknown
  id?: string
}

export function frameEvent({ event, data, id }: StreamEvent): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n${id === undefined ? '' : `id: ${id}\n`}\n`
}

interface ProjectionOptions {
  requestId: string
  threadId: string
  modes: ReadonlySet<StreamMode>
  /** The messages of the session before the answers of the run. */
  base: readonly LangChainMessage[]
  log: EventLog
  /** What the client has of the run: events up to there are not passed on, but for the last one of a run. */
  received: LastReceived
  /** True for a run that the client has ended: the end is no error. */
  isQuiet?: boolean | undefined
}

/** A run as the stream of LangGraph's Agent Server, in the modes that the client asks for. */
export class LangGraphProjection implements Projection<StreamEvent> {
  readonly opening: readonly StreamEvent[]
  private readonly options: ProjectionOptions
  private run: RunMessages
  private plan = new PlanProgress()
  /** What the client has of the log; undefined before the first event. */
  private position: LogPosition | undefined
  /** The smallest number to which the run has been rewound. */
  private rewoundTo = Infinity
  /** Number of the last event that was taken. */
  private taken = 0
  /** What the run waits for, as a part of the values. */
  private waiting: object = {}
  /** Ids of messages that `messages/metadata` has described. */
  private readonly describedIds = new Set<string>()

  constructor(options: ProjectionOptions) {
    const { requestId, threadId, received } = options
    this.options = options
    this.run = this.newMessages()
    const metadata = { event: 'metadata', data: { run_id: requestId, thread_id: threadId, attempt: 1 } }
    this.opening = [metadata, ...(received.after === 0 ? this.values() : [])]
  }

  take(event: LoggedEvent, number: number): readonly StreamEvent[] {
    const { log, received } = this.options
    this.position ??= positionIn(log, received)
    if (number <= this.taken) return this.rewind(number)
    this.taken = number
    const start = Math.min(this.rewoundTo, log.startOf(this.position))
    // A client with events of a lost attempt has texts that are void.
    const valid = number === start + 1 && start < received.after ? this.values() : []
    const events = this.toStep(event)
    return number > start ? this.numbered([...valid, ...events], number) : []
  }

  private newMessages(): RunMessages {
    return new RunMessages(this.options.requestId, new Set(this.options.base.map(({ id }) => id)))
  }

  /** The run has lost its process: what was made after event `number` is no longer of the run. */
  private rewind(number: number): readonly StreamEvent[] {
    this.rewoundTo = Math.min(this.rewoundTo, number)
    this.taken = number
    this.run = this.newMessages()
    this.plan = new PlanProgress()
    for (const event of this.options.log.events.slice(0, number)) {
      this.plan.take(event)
      this.run.take(event)
    }
    return this.numbered(this.values(), number)
  }

  private toStep(event: LoggedEvent): StreamEvent[] {
    this.waiting = {}
    const custom = event.type === 'text' && event.label === 'reasoning' ? [{ type: 'reasoning', text: event.text }] : []
    const plan = this.plan.take(event) ? [{ type: 'plan', steps: this.plan.steps }] : []
    const change = this.run.take(event)
    const events = [...this.inMode('custom', ...custom, ...plan), ...this.toEvents(change)]
    const isStep = change.added !== undefined || change.completed !== undefined || change.isReset
    return [...events, ...(isStep ? this.values() : [])]
  }

  last(event: LastEvent, number: number, files: readonly AnswerFile[], id?: string): readonly StreamEvent[] {
    const events = this.toEvents(this.run.last(event, files))
    if (event.type === 'end') return this.numbered([...events, ...this.toEnd(event)], id ?? number)
    this.waiting = { __interrupt__: toInterrupts(event.calls) }
    return this.numbered([...events, ...this.inMode('updates', this.waiting), ...this.values()], id ?? number)
  }

  progress({ step, report }: ProgressEvent): readonly StreamEvent[] {
    return this.inMode('custom', { type: 'progress', tool_call_id: step.id, name: step.tool, ...report })
  }

  fault(fault: EndEvent): readonly StreamEvent[] {
    return this.toEnd(fault)
  }

  private toEnd(event: EndEvent): StreamEvent[] {
    const error = errorOf(event)
    return error && !this.options.isQuiet ? [{ event: 'error', data: toErrorData(error) }] : this.values()
  }

  private numbered(events: StreamEvent[], number: number | string): StreamEvent[] {
    const last = events.at(-1)
    if (last) last.id = `${this.options.requestId}:${number}`
    return events
  }

  private inMode(mode: StreamMode, ...data: unknown[]): StreamEvent[] {
    return this.options.modes.has(mode) ? data.map((part) => ({ event: mode, data: part })) : []
  }

  private values(): StreamEvent[] {
    return this.options.modes.has('values')
      ? this.inMode('values', { messages: [...this.options.base, ...this.run.messages], ...this.waiting })
      : []
  }

  private toEvents({ completed, added, grown }: Change): StreamEvent[] {
    return [
      ...(completed ? [...this.inMode('updates', { agent: { messages: [completed] } }), ...this.partial(completed, 'complete')] : []),
      ...(added ? this.toAdded(added) : []),
      ...(grown ? [...this.tuple(toChunk(grown)), ...this.partial(grown.message, 'partial')] : []),
    ]
  }

  private toAdded(message: LangChainMessage): StreamEvent[] {
    const update = { [message.type === 'tool' ? 'tools' : '__start__']: { messages: [message] } }
    return [...this.inMode('updates', update), ...this.tuple(message), ...this.partial(message, 'complete')]
  }

  /** The event of the mode `messages-tuple` is called `messages`. */
  private tuple(message: { type: string }): StreamEvent[] {
    if (!this.options.modes.has('messages-tuple')) return []
    return [{ event: 'messages', data: [message, this.metadataOf(message)] }]
  }

  private partial(message: LangChainMessage, state: 'partial' | 'complete'): StreamEvent[] {
    if (!this.options.modes.has('messages')) return []
    const isNew = !this.describedIds.has(message.id)
    this.describedIds.add(message.id)
    const metadata = { event: 'messages/metadata', data: { [message.id]: { metadata: this.metadataOf(message) } } }
    return [...(isNew ? [metadata] : []), { event: `messages/${state}`, data: [message] }]
  }

  private metadataOf({ type }: { type: string }): object {
    const { requestId, threadId } = this.options
    const node = type === 'tool' ? 'tools' : 'agent'
    return { run_id: requestId, thread_id: threadId, graph_id: 'agent', langgraph_node: node, langgraph_checkpoint_ns: '' }
  }
}

/** What a message has grown by, as a chunk that clients append. */
function toChunk({ message, text, call }: NonNullable<Change['grown']>) {
  const { id, additional_kwargs, response_metadata, tool_calls: calls } = message
  const base = { type: 'AIMessageChunk', id, content: text, additional_kwargs, response_metadata }
  if (!call) return { ...base, tool_calls: [], tool_call_chunks: [] }
  const called = calls[call.index]!
  const chunk = { type: 'tool_call_chunk', id: called.id, name: called.name, args: JSON.stringify(called.args), index: call.index }
  return { ...base, tool_calls: [called], tool_call_chunks: [chunk] }
}
