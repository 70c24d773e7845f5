import type { Artifact } from '../../agent/messages.ts'
import {
  ModelError,
  type Model,
  type ModelEvent,
  type ModelReply,
  type ModelRequest,
  type ModelSink,
  type RunTrace,
} from '../../agent/model.ts'
import { fieldsOf } from '../../json/shape.ts'
import type { LoggedEvent } from '../../runs/run.ts'
import type { Example, RecordedReply, ReplyPlace } from '../example.ts'
import type { Order } from './order.ts'
import type { Recording } from './recording.ts'

interface RecordedModelOptions {
  example: Example
  recording: Recording
  events: readonly LoggedEvent[]
  order: Order
  /** The model of the configuration: what it takes decides what the agent sends. */
  model: Model
  /** Called with the files of a reply, which the loop keeps next. */
  onFiles(artifacts: readonly Artifact[]): void
  /** Called where an agent asks more often than recorded. */
  onMissing(): void
}

/** Gives the recorded replies, to each agent its own. */
export class RecordedModel implements Model {
  readonly name: string
  readonly seesImages: boolean
  private readonly options: RecordedModelOptions
  private readonly replies: Map<number | null, RecordedReply[]>
  /** The call in which the agent runs that is asking now. */
  private asking: string | undefined

  constructor(options: RecordedModelOptions) {
    this.options = options
    this.name = options.model.name
    this.seesImages = options.model.seesImages
    this.replies = Map.groupBy(options.example.model_replies, ({ parent }) => parent)
  }

  readsFiles(mediaType: string): boolean {
    return this.options.model.readsFiles?.(mediaType) ?? false
  }

  /** The trace of a run, which tells the model the agent that asks. */
  get trace(): RunTrace {
    const attempt = { traceparent: undefined, end: () => undefined }
    return {
      modelCall: (callId) => ({
        attempt: () => {
          this.asking = callId
          return attempt
        },
      }),
      traceparentOf: () => undefined,
    }
  }

  async reply(request: ModelRequest, sink: ModelSink): Promise<ModelReply> {
    this.asking = undefined
    request.trace?.attempt(this, request)
    const { recording, order, onFiles } = this.options
    const agent = recording.placeOf(this.asking)
    const reply = agent === undefined ? undefined : this.replies.get(agent)?.shift()
    if (!reply) throw this.missing(agent)
    await this.publish(reply, sink)
    await order.reply(reply)
    const { text, calls, reasoning = '', finish, usage, sources, artifacts } = reply
    if (artifacts) onFiles(artifacts)
    return {
      text,
      reasoning,
      toolCalls: calls,
      finish,
      usage,
      ...(sources && { sources }),
      ...(artifacts && { files: artifacts.map(({ type }) => ({ mediaType: type, data: '' })) }),
    }
  }

  /** Passes the events of a reply as the model sent them. The loop repeats a text behind a call of the provider itself. */
  private async publish(reply: RecordedReply, sink: ModelSink): Promise<void> {
    const { at, parent, text, reasoning } = reply
    if (!at || parent !== null) {
      if (reasoning && !at) await sink({ type: 'reasoning', text: reasoning })
      if (at && parent !== null) for (const event of this.providerSteps(at, parent)) await sink(toProviderEvent(event))
      if (text !== '') await sink({ type: 'text', text })
      return
    }
    let written = ''
    let isStale = false
    for (const event of this.options.events.slice(at.from, at.to)) {
      const isText = event.type === 'text' && event.label !== 'reasoning'
      if (isText && !(isStale && event.text === written)) {
        written += event.text
        await sink({ type: 'text', text: event.text })
      } else if (event.type === 'text' && !isText) await sink({ type: 'reasoning', text: event.text })
      else if (event.type === 'retrying') {
        written = ''
        await sink({ type: 'retrying' })
      } else if (event.type === 'step_start' || event.type === 'step_end') await sink(toProviderEvent(event))
      isStale = !isText
    }
  }

  /** The calls of the provider during a reply of a sub-agent, whose text is in no log. */
  private providerSteps({ from, to }: ReplyPlace, parent: number): StepEvent[] {
    const { example, events } = this.options
    const name = example.recording.find(({ n }) => n === parent)?.tool.replace(/^sub_agent:/, '')
    return events.slice(from, to).filter((event): event is StepEvent => {
      return (event.type === 'step_start' || event.type === 'step_end') && event.step.isOfProvider === true && event.step.subAgent === name
    })
  }

  /** The failure of a model that has failed in the recorded run too, or a divergence. */
  private missing(agent: number | null | undefined): ModelError {
    const { example, events, onMissing } = this.options
    const failed = agent === null ? endError(events) : errorOfCall(example, agent)
    const reason = failed?.startsWith(failure) ? failed.slice(failure.length) : undefined
    if (reason === undefined) onMissing()
    return new ModelError('unavailable', reason ?? 'The recording has no further reply.')
  }
}

const failure = 'No model could answer: '

function endError(events: readonly LoggedEvent[]): string | undefined {
  const last = events.at(-1)
  return last?.type === 'end' ? last.error?.body : undefined
}

function errorOfCall({ recording }: Example, n: number | undefined): string | undefined {
  const { error } = fieldsOf(recording.find((call) => call.n === n)?.output)
  return typeof error === 'string' ? error : undefined
}

type StepEvent = Extract<LoggedEvent, { type: 'step_start' | 'step_end' }>

function toProviderEvent(event: StepEvent): ModelEvent {
  const { id, tool: name, input } = event.step
  const call = { id, name, input }
  if (event.type === 'step_start') return { type: 'call_start', call }
  const { output, status } = event.step
  return { type: 'call_end', call, output, isError: status === 'error' }
}
