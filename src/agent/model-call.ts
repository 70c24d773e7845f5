import type { Artifact, AssistantMessage, ToolCall } from './messages.ts'
import { CodeFence } from './structured-answer.ts'
import type { EndReason, TextLabel } from './events.ts'
import type { Loop, LoopOptions } from './options.ts'
import type { ModelReply, ModelRequest, ModelSink, RequestedCall } from './model.ts'
import { chosenOffers, toRequest } from './model-request.ts'
import { brokenOff, ProviderSteps, withoutOutput, keepFiles, toSources, type ReplyFiles } from './provider-steps.ts'
import { findTool, fitName, nameTools } from './tool-names.ts'

/** How a turn asks the model. */
export interface TurnOptions {
  /** The label of the model's text; undefined: the text is not published. */
  label: TextLabel | undefined
  mayCall: boolean
}

export interface Turn {
  message: AssistantMessage
  finish: EndReason
}

const noFiles: ReplyFiles = { artifacts: [], faults: [] }

/** Makes a model call, and emits its text on arrival. */
export async function callModel(
  loop: Loop,
  { label, mayCall }: TurnOptions,
): Promise<Pick<ModelReply, 'usage' | 'finish'> & { message: AssistantMessage }> {
  const { options, answer, emit } = loop
  answer.startTurn()
  const chosen = chosenOffers(options)
  const offers = mayCall ? chosen : []
  const offered = mayCall || chosen.length === 0 ? { tools: offers } : { tools: [], idleTools: chosen }
  const relay = new Relay(loop, label)
  const reply = await relay.ask(toRequest(options, label, offered))
  options.signal.throwIfAborted()
  const files = reply.files ? await keepFiles(reply, options) : noFiles
  // A program reads an answer with a schema, so that answer has no notes.
  const faults = options.answerSchema ? '' : files.faults.map((fault) => `\n[${fault}]`).join('')
  const message = toMessage(withText(reply, reply.text + faults), files.artifacts, offers.length > 0, options)
  for (const text of answer.takeHeldReasoning()) void emit(answer.add('reasoning', text))
  if (label !== undefined && faults !== '') void emit(answer.add(label, faults))
  return { message, usage: reply.usage, finish: reply.finish }
}

/** Emits the events of one model call as events of the agent. */
class Relay {
  private readonly loop: Loop
  private readonly label: TextLabel | undefined
  private readonly steps: ProviderSteps
  private fence: CodeFence | undefined
  /** True when something was published that a further attempt voids. */
  private isPublished: boolean

  constructor(loop: Loop, label: TextLabel | undefined) {
    this.loop = loop
    this.label = label
    this.steps = new ProviderSteps(loop)
    this.fence = label === 'answer' && loop.options.answerSchema !== undefined ? new CodeFence() : undefined
    this.isPublished = label !== undefined
  }

  async ask(request: ModelRequest): Promise<ModelReply> {
    const { model, signal } = this.loop.options
    try {
      return this.end(await model.reply(request, this.take, signal))
    } catch (error) {
      void this.steps.close(brokenOff)
      throw error
    }
  }

  private readonly take: ModelSink = (event) => {
    const { answer, emit } = this.loop
    switch (event.type) {
      case 'text':
        return this.publish(this.fence ? this.fence.take(event.text) : event.text)
      case 'reasoning':
        if (answer.holdBack(event.text)) return undefined
        this.isPublished = true
        return emit(answer.add('reasoning', event.text))
      case 'call_start':
      case 'call_end':
        this.isPublished = true
        for (const text of answer.takeHeldReasoning()) void emit(answer.add('reasoning', text))
        answer.markStale()
        return event.type === 'call_start' ? this.steps.start(event.call) : this.steps.end(event)
      case 'retrying':
        return this.restart()
    }
  }

  private publish(text: string): Promise<void> | undefined {
    const { label, fence } = this
    const { answer, emit } = this.loop
    if (label === undefined || (fence && text === '')) return undefined
    const earlier = label === 'answer' && text !== '' ? answer.resume() : undefined
    if (earlier) void emit(earlier)
    return emit(answer.add(label, text))
  }

  private restart(): Promise<void> | undefined {
    const stored = this.steps.close(brokenOff)
    this.loop.answer.restart()
    this.fence &&= new CodeFence()
    // Unpublished text has no attempt to discard.
    return this.isPublished ? this.loop.emit({ type: 'retrying' }) : stored
  }

  private end(reply: ModelReply): ModelReply {
    if (this.steps.areOpen) this.loop.answer.markStale()
    void this.steps.close(withoutOutput)
    if (!this.fence) return reply
    void this.publish(this.fence.end())
    return withText(reply, this.fence.text)
  }
}

/** The reply with a text of the loop. Data of the provider belongs to the text that the model wrote. */
function withText(reply: ModelReply, text: string): ModelReply {
  if (reply.text === text) return reply
  const { vendor: _vendor, ...rest } = reply
  return { ...rest, text }
}

/**
 * Takes tool calls only when tools were offered; other requested calls are dropped, and the provider's data with them, which
 * holds the calls too.
 */
function toMessage(reply: ModelReply, artifacts: Artifact[], mayCall: boolean, options: LoopOptions): AssistantMessage {
  const hasCalls = reply.toolCalls.length > 0
  const sources = reply.sources && toSources(reply)
  return {
    role: 'assistant',
    text: reply.text,
    toolCalls: mayCall && hasCalls ? toCalls(reply.toolCalls, options) : [],
    ...(reply.reasoning ? { reasoning: reply.reasoning } : {}),
    ...(reply.vendor && (mayCall || !hasCalls) ? { vendor: reply.vendor } : {}),
    ...(sources ? { sources } : {}),
    ...(artifacts.length > 0 ? { artifacts } : {}),
  }
}

function toCalls(requested: readonly RequestedCall[], { tools, modelOptions, newId }: LoopOptions): ToolCall[] {
  const toolsByName = nameTools(tools())
  // Not every provider can be told to make a single call.
  const taken = modelOptions?.parallelToolCalls === false ? requested.slice(0, 1) : requested
  return taken.map(({ name: requestedName, arguments: input }) => {
    const name = fitName(requestedName)
    const approval = findTool(toolsByName, name)?.approval
    return { id: newId(), name, arguments: input, ...(approval && { approval: approval.by }) }
  })
}
