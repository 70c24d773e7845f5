import type { Answer } from './answer.ts'
import { schemaInstructions } from './answer-schema.ts'
import { CodeFence } from './code-fence.ts'
import type { AgentEvent, EndReason, TextLabel } from './events.ts'
import { fitOutputs, repair } from './history.ts'
import type { LoopOptions } from './loop.ts'
import type { AssistantMessage, Message, ToolCall } from './messages.ts'
import type { ModelOptions, ModelReply, ModelRequest, RequestedCall, ToolOffer } from './model.ts'
import { chosenOffers } from './model-offer.ts'
import { choiceInForce } from './tool-choice.ts'
import { fitImages } from './tool-images.ts'
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

/** Makes a model call: yields text on arrival, then the `turn` event. */
export async function* askModel(options: LoopOptions, answer: Answer, { label, mayCall }: TurnOptions): AsyncGenerator<AgentEvent, Turn> {
  const startedAt = options.now()
  options.signal.throwIfAborted()
  answer.startTurn()
  const offers = mayCall ? chosenOffers(options) : []
  const reply = yield* relay(options, answer, label, offers)
  options.signal.throwIfAborted()
  const message = toMessage(reply, offers.length > 0, options)
  for (const text of answer.takeHeldReasoning()) yield answer.add('reasoning', text)
  options.messages.push(message)
  yield { type: 'turn', message, usage: reply.usage, finish: reply.finish, startedAt, endedAt: options.now() }
  return { message, finish: reply.finish === 'tool_calls' ? 'stop' : reply.finish }
}

async function* relay(
  options: LoopOptions,
  answer: Answer,
  label: TextLabel | undefined,
  tools: ToolOffer[],
): AsyncGenerator<AgentEvent, ModelReply> {
  const { model, signal, windowTokens = Infinity } = options
  const trace = options.trace?.modelCall(options.parentCallId)
  const messages = fitOutputs(shownMessages(options.messages), windowTokens)
  const wanted = optionsOf(options, tools)
  const extras = { ...(wanted && { options: wanted }), ...(trace && { trace }) }
  const replying = model.reply({ ...promptOf(options, label), messages, tools, ...extras }, signal)
  const isInSchema = label === 'answer' && options.answerSchema !== undefined
  let fence = isInSchema ? new CodeFence() : undefined
  let isPublished = false
  try {
    for (;;) {
      const next = await replying.next()
      if (next.done) {
        if (!fence) return next.value
        const rest = fence.end()
        if (rest !== '') yield answer.add('answer', rest)
        return withText(next.value, fence.text)
      }
      const event = next.value
      if (event.type === 'retrying') {
        answer.restart()
        fence &&= new CodeFence()
        // Unpublished text has no attempt to discard.
        if (isPublished || label !== undefined) yield event
      } else if (event.type === 'text') {
        const text = fence ? fence.take(event.text) : event.text
        if (label !== undefined && (!fence || text !== '')) yield answer.add(label, text)
      } else if (event.type === 'reasoning' && !answer.holdBack(event.text)) {
        isPublished = true
        yield answer.add('reasoning', event.text)
      }
    }
  } finally {
    // Leaving the loop early must close the model's socket; after a normal end this call has no effect.
    await replying.return(undefined as never)
  }
}

/** The reply with a text of the loop. Data of the provider belongs to the text that the model wrote. */
function withText(reply: ModelReply, text: string): ModelReply {
  if (reply.text === text) return reply
  const { vendor: _vendor, ...rest } = reply
  return { ...rest, text }
}

function promptOf({ system, answerSchema }: LoopOptions, label: TextLabel | undefined): Pick<ModelRequest, 'system' | 'responseSchema'> {
  if (label !== 'answer' || !answerSchema) return { system }
  const parts = [system, schemaInstructions(answerSchema)].filter((text) => text !== '')
  return { system: parts.join('\n\n'), responseSchema: answerSchema.schema }
}

/** The transcript that the model is shown. Only tool results have pictures that need to be selected. */
function shownMessages(transcript: readonly Message[]): readonly Message[] {
  const messages = repair(transcript)
  return messages.some(({ role }) => role === 'tool') ? fitImages(messages) : messages
}

/** The caller's options for a model call; undefined for none. */
function optionsOf({ modelOptions, messages }: LoopOptions, offers: readonly ToolOffer[]): ModelOptions | undefined {
  if (!modelOptions) return undefined
  const { toolChoice, parallelToolCalls, ...sampling } = modelOptions
  if (offers.length === 0) return sampling
  const choice = choiceInForce(toolChoice, messages)
  return {
    ...sampling,
    ...(choice === undefined || choice === 'none' ? {} : { toolChoice: choice }),
    ...(parallelToolCalls === undefined ? {} : { parallelToolCalls }),
  }
}

/**
 * Takes tool calls only when tools were offered; other requested calls are dropped, and the provider's data with them, which
 * holds the calls too.
 */
function toMessage(reply: ModelReply, mayCall: boolean, options: LoopOptions): AssistantMessage {
  const hasCalls = reply.toolCalls.length > 0
  return {
    role: 'assistant',
    text: reply.text,
    toolCalls: mayCall && hasCalls ? toCalls(reply.toolCalls, options) : [],
    ...(reply.reasoning ? { reasoning: reply.reasoning } : {}),
    ...(reply.vendor && (mayCall || !hasCalls) ? { vendor: reply.vendor } : {}),
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
