import type { JsonValue } from './messages.ts'
import {
  type Model,
  type ModelEvent,
  type ModelReply,
  type ModelRequest,
  type ModelSink,
  type ModelUsage,
  type RequestedCall,
  ModelError,
} from './model.ts'

/** A scripted reply: `events` are passed to the sink, then `reply` is returned or `error` thrown. */
export interface ScriptedReply {
  events: ModelEvent[]
  reply?: Partial<ModelReply>
  error?: Error
  /** Runs before the first event, for tests that act during a model call. */
  before?(request: ModelRequest, signal: AbortSignal): Promise<void> | void
}

/**
 * The fake of the `Model` port: plays its script, records the requests, and throws on a call that was not scripted.
 */
export class ScriptedModel implements Model {
  readonly name = 'scripted-1'
  readonly seesImages: boolean = true
  /** The MIME types of files that the model reads. */
  fileTypes: readonly string[] = []
  readonly requests: ModelRequest[] = []
  private readonly script: ScriptedReply[]

  constructor(...script: ScriptedReply[]) {
    this.script = script
  }

  readsFiles(mediaType: string): boolean {
    return this.fileTypes.includes(mediaType)
  }

  async reply(request: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelReply> {
    const next = this.script[this.requests.length]
    const data = { ...request }
    delete data.trace
    this.requests.push(structuredClone(data))
    if (!next) throw new Error(`ScriptedModel: call ${this.requests.length} was not scripted`)
    await next.before?.(request, signal)
    for (const event of next.events) {
      signal.throwIfAborted()
      await sink(event)
    }
    if (next.error) throw next.error
    return toReply(next)
  }

  /** Throws unless the whole script was played. */
  assertComplete(): void {
    if (this.requests.length !== this.script.length) {
      throw new Error(`ScriptedModel: ${this.requests.length} of ${this.script.length} replies were asked for`)
    }
  }
}

/** Asks a model, and collects the events of its reply. `onEvent` acts on each event before the next. */
export async function collectReply(
  model: Pick<Model, 'reply'>,
  request: ModelRequest,
  signal = new AbortController().signal,
  onEvent?: (event: ModelEvent) => void,
): Promise<{ events: ModelEvent[]; reply: ModelReply }> {
  const events: ModelEvent[] = []
  const sink: ModelSink = (event) => {
    events.push(event)
    onEvent?.(event)
    return undefined
  }
  const reply = await model.reply(request, sink, signal)
  return { events, reply }
}

/** A reply of text in pieces, then tool calls. */
export function say(text: string | string[], ...toolCalls: RequestedCall[]): ScriptedReply {
  const pieces = typeof text === 'string' ? [text] : text
  return { events: pieces.filter((piece) => piece !== '').map((piece) => ({ type: 'text', text: piece })), reply: { toolCalls } }
}

/** A tool call in the form of a model's request. */
export function call(name: string, input: unknown): RequestedCall {
  return { name, arguments: JSON.stringify(input) }
}

/** The events of a call that the provider runs. */
export function providerCall(name: string, input: JsonValue, output: JsonValue, { id = 'p1', isError = false } = {}): ModelEvent[] {
  const providerCall = { id, name, input }
  return [
    { type: 'call_start', call: providerCall },
    { type: 'call_end', call: providerCall, output, isError },
  ]
}

/** Text events. */
export function texts(...pieces: string[]): ModelEvent[] {
  return pieces.map((text) => ({ type: 'text', text }))
}

/** A reply with an error after some text. */
export function fail(error: Error = new ModelError('unavailable', 'scripted-1 is down'), text = ''): ScriptedReply {
  return { ...say(text), error }
}

function toReply(scripted: ScriptedReply): ModelReply {
  const textOf = (type: 'text' | 'reasoning') => scripted.events.map((event) => (event.type === type ? event.text : '')).join('')
  const toolCalls = scripted.reply?.toolCalls ?? []
  const usage: ModelUsage = { model: 'scripted-1', input: 10, output: 5, cachedInput: 0, reasoning: 0 }
  return {
    text: textOf('text'),
    reasoning: textOf('reasoning'),
    finish: toolCalls.length > 0 ? 'tool_calls' : 'stop',
    usage,
    ...scripted.reply,
    toolCalls,
  }
}
