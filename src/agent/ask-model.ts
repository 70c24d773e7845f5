import type { Answer } from './answer.ts'
import type { Artifact } from './artifact.ts'
import { schemaInstructions } from './answer-schema.ts'
import { CodeFence } from './code-fence.ts'
import type { AgentEvent, EndReason, TextLabel } from './events.ts'
import { fitOutputs, repair } from './history.ts'
import type { LoopOptions } from './loop.ts'
import type { AssistantMessage, Message, ToolCall } from './messages.ts'
import type { ModelEvent, ModelOptions, ModelReply, ModelRequest, RequestedCall, ToolOffer } from './model.ts'
import { chosenOffers } from './model-offer.ts'
import { brokenOff, ProviderSteps, withoutOutput } from './provider-steps.ts'
import { keepFiles, toSources, type ReplyFiles } from './reply-extras.ts'
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

const noFiles: ReplyFiles = { artifacts: [], faults: [] }

/** Makes a model call: yields text on arrival, then the `turn` event. */
export async function* askModel(options: LoopOptions, answer: Answer, { label, mayCall }: TurnOptions): AsyncGenerator<AgentEvent, Turn> {
  const startedAt = options.now()
  options.signal.throwIfAborted()
  answer.startTurn()
  const chosen = chosenOffers(options)
  const offers = mayCall ? chosen : []
  const reply = yield* relay(options, answer, label, mayCall || chosen.length === 0 ? { tools: offers } : { tools: [], idleTools: chosen })
  options.signal.throwIfAborted()
  const made = reply.files ? await keepFiles(reply, options) : noFiles
  // A program reads an answer with a schema, so that answer has no notes.
  const faults = options.answerSchema ? '' : made.faults.map((fault) => `\n[${fault}]`).join('')
  const message = toMessage(withText(reply, reply.text + faults), made.artifacts, offers.length > 0, options)
  for (const text of answer.takeHeldReasoning()) yield answer.add('reasoning', text)
  if (label !== undefined && faults !== '') yield answer.add(label, faults)
  options.messages.push(message)
  yield { type: 'turn', message, usage: reply.usage, finish: reply.finish, startedAt, endedAt: options.now() }
  return { message, finish: reply.finish === 'tool_calls' ? 'stop' : reply.finish }
}

/** How the events of one model call are published. */
interface Relay {
  options: LoopOptions
  answer: Answer
  label: TextLabel | undefined
  steps: ProviderSteps
  fence: CodeFence | undefined
  /** True when something was published that a further attempt voids. */
  isPublished: boolean
}

async function* relay(
  options: LoopOptions,
  answer: Answer,
  label: TextLabel | undefined,
  offered: Pick<ModelRequest, 'tools' | 'idleTools'>,
): AsyncGenerator<AgentEvent, ModelReply> {
  const { model, signal, windowTokens = Infinity } = options
  const trace = options.trace?.modelCall(options.parentCallId)
  const messages = fitOutputs(shownMessages(options.messages), windowTokens)
  const wanted = optionsOf(options, offered.tools)
  const extras = { ...(wanted && { options: wanted }), ...(trace && { trace }) }
  const replying = model.reply({ ...promptOf(options, label), messages, ...offered, ...extras }, signal)
  const isInSchema = label === 'answer' && options.answerSchema !== undefined
  const fence = isInSchema ? new CodeFence() : undefined
  const state: Relay = { options, answer, label, steps: new ProviderSteps(options), fence, isPublished: label !== undefined }
  try {
    for (;;) {
      const next = await replying.next()
      if (!next.done) {
        yield* publish(next.value, state)
        continue
      }
      for (const event of state.steps.close(withoutOutput)) {
        answer.markStale()
        yield event
      }
      if (!state.fence) return next.value
      yield* publishText(state.fence.end(), state)
      return withText(next.value, state.fence.text)
    }
  } catch (error) {
    yield* state.steps.close(brokenOff)
    throw error
  } finally {
    // Leaving the loop early must close the model's socket; after a normal end this call has no effect.
    await replying.return(undefined as never)
  }
}

function* publish(event: ModelEvent, state: Relay): Generator<AgentEvent, void> {
  const { answer, steps } = state
  switch (event.type) {
    case 'text':
      return yield* publishText(state.fence ? state.fence.take(event.text) : event.text, state)
    case 'reasoning':
      if (answer.holdBack(event.text)) return
      state.isPublished = true
      return yield answer.add('reasoning', event.text)
    case 'call_start':
    case 'call_end':
      state.isPublished = true
      for (const text of answer.takeHeldReasoning()) yield answer.add('reasoning', text)
      answer.markStale()
      return yield* event.type === 'call_start' ? steps.start(event.call) : steps.end(event)
    case 'retrying':
      yield* steps.close(brokenOff)
      answer.restart()
      state.fence &&= new CodeFence()
      // Unpublished text has no attempt to discard.
      if (state.isPublished) yield event
  }
}

function* publishText(text: string, { answer, label, fence }: Relay): Generator<AgentEvent, void> {
  if (label === undefined || (fence && text === '')) return
  const earlier = label === 'answer' && text !== '' ? answer.resume() : undefined
  if (earlier) yield earlier
  yield answer.add(label, text)
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
  // Only the chosen tool is on offer then, by its name for the model.
  const demand = typeof choice === 'object' ? { name: offers[0]?.name ?? choice.name } : choice
  return {
    ...sampling,
    ...(demand === undefined || demand === 'none' ? {} : { toolChoice: demand }),
    ...(parallelToolCalls === undefined ? {} : { parallelToolCalls }),
  }
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
