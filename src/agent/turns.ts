import { Answer } from './answer.ts'
import { Interrupted } from './approval.ts'
import type { AgentEvent, EndReason, TextLabel } from './events.ts'
import { callsWithoutResult, fitOutputs, repair } from './history.ts'
import type { AssistantMessage, Message, ToolCall } from './messages.ts'
import { fitImages } from './tool-images.ts'
import type { Model, ModelReply, RequestedCall, ToolOffer } from './model.ts'
import type { Tool } from './tool.ts'
import { runCalls, scopeIn, type CallOptions } from './tool-calls.ts'
import { findTool, fitName, nameTools } from './tool-names.ts'

/** Everything that a loop needs: the agent, its position, and the outside world as arguments. */
export interface LoopOptions extends CallOptions {
  model: Model
  system: string
  /**
   * The transcript so far; the loop appends to this array. Ends with a user message, or in the middle of a turn when a
   * run resumes.
   */
  messages: Message[]
  /** Total number of model calls; the last call is made without tools. */
  maxIterations: number
  /** Model calls made before the run resumed. */
  iterations?: number
  /**
   * Selects the tools that the model is offered, in this order; default: all. Calls of other tools run all the same.
   */
  offered?(all: readonly Tool[], messages: readonly Message[]): readonly Tool[]
  /**
   * Token budget for the transcript: beyond it tool output is cut for the model, old output first. Default: no limit.
   */
  windowTokens?: number
  /** Id of the tool call in which this agent runs; absent for the run's own agent. */
  parentCallId?: string
  /** The reason why `signal` was aborted. */
  stopReason(): 'timeout' | 'cancelled'
}

/** The state of a running loop. */
export interface Loop {
  readonly options: LoopOptions
  readonly answer: Answer
  /** Model calls made, including those before a resume. */
  callsMade: number
}

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

export function startLoop(options: LoopOptions, earlier = ''): Loop {
  return { options, answer: new Answer(earlier), callsMade: options.iterations ?? 0 }
}

/**
 * Drives `work` to exactly one `end` event, or to an `interrupt` when calls wait for approval. An aborted loop, and a
 * loop out of model calls, end with the best answer so far; a model that fails for good throws its `ModelError`.
 */
export async function* untilEnd({ options, answer }: Loop, work: AsyncGenerator<AgentEvent, EndReason>): AsyncGenerator<AgentEvent, void> {
  let reason: EndReason
  try {
    reason = yield* work
  } catch (error) {
    if (error instanceof Interrupted && !options.signal.aborted) return yield { type: 'interrupt', calls: error.calls }
    if (!options.signal.aborted) throw error
    reason = options.stopReason()
  }
  if (answer.needsRepeat) yield answer.repeat()
  yield { type: 'end', reason }
}

/**
 * Runs turns until the model answers in text alone, and returns that turn; returns undefined when `upTo` model calls
 * were made first.
 * || One turn:
 * 1. Ask the model; the last model call of the run offers no tools.
 * 2. Yield `text` events as the reply arrives (`relay`).
 * 3. Append the message to the transcript and yield `turn`: a run can resume from here.
 * 4. A message without tool calls is the answer: return.
 * 5. Run the tool calls (`runCalls`): reads in parallel, writes one by one.
 * 6. Yield `result` as each call ends; append the results to the transcript in the order asked.
 * 7. Throw `Interrupted` when calls still wait for approval (`untilEnd` yields `interrupt`).
 * 8. Start the next turn.
 */
export async function* turns(
  loop: Loop,
  turnOptions: TurnOptions,
  upTo = loop.options.maxIterations,
): AsyncGenerator<AgentEvent, Turn | undefined> {
  const { options, answer } = loop
  while (loop.callsMade < upTo) {
    const isLast = ++loop.callsMade === options.maxIterations
    const turn = yield* askModel(options, answer, { ...turnOptions, mayCall: turnOptions.mayCall && !isLast })
    if (turn.message.toolCalls.length === 0) return turn
    answer.markStale()
    yield* runCalls(turn.message.toolCalls, options)
  }
  return undefined
}

/** Runs the calls of a turn that a dead process left without results, but no `write` that may have started. */
export async function* resumeCalls({ options }: Loop): AsyncGenerator<AgentEvent, void> {
  const open = callsWithoutResult(options.messages)
  if (open.length > 0) yield* runCalls(open, options, { resumed: true })
}

/** Makes a model call: yields text on arrival, then the `turn` event. */
async function* askModel(options: LoopOptions, answer: Answer, { label, mayCall }: TurnOptions): AsyncGenerator<AgentEvent, Turn> {
  const startedAt = options.now()
  options.signal.throwIfAborted()
  answer.startTurn()
  const offers = mayCall ? offersOf(options) : []
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
  const { model, system, signal, windowTokens = Infinity } = options
  const trace = options.trace?.modelCall(options.parentCallId)
  const messages = fitOutputs(shownMessages(options.messages), windowTokens)
  const replying = model.reply({ system, messages, tools, ...(trace && { trace }) }, signal)
  let isPublished = false
  try {
    for (;;) {
      const next = await replying.next()
      if (next.done) return next.value
      const event = next.value
      if (event.type === 'retrying') {
        answer.restart()
        // Unpublished text has no attempt to discard.
        if (isPublished || label !== undefined) yield event
      } else if (event.type === 'text') {
        if (label !== undefined) yield answer.add(label, event.text)
      } else if (!answer.holdBack(event.text)) {
        isPublished = true
        yield answer.add('reasoning', event.text)
      }
    }
  } finally {
    // Leaving the loop early must close the model's socket; after a normal end this call has no effect.
    await replying.return(undefined as never)
  }
}

/** The transcript that the model is shown. Only tool results have pictures that need to be selected. */
function shownMessages(transcript: readonly Message[]): readonly Message[] {
  const messages = repair(transcript)
  return messages.some(({ role }) => role === 'tool') ? fitImages(messages) : messages
}

/** Takes tool calls only when tools were offered; other requested calls are dropped. */
function toMessage(reply: ModelReply, mayCall: boolean, options: LoopOptions): AssistantMessage {
  return {
    role: 'assistant',
    text: reply.text,
    toolCalls: mayCall && reply.toolCalls.length > 0 ? toCalls(reply.toolCalls, options) : [],
    ...(reply.reasoning ? { reasoning: reply.reasoning } : {}),
    ...(reply.vendor ? { vendor: reply.vendor } : {}),
  }
}

function toCalls(requested: readonly RequestedCall[], { tools, newId }: LoopOptions): ToolCall[] {
  const toolsByName = nameTools(tools())
  return requested.map(({ name: requestedName, arguments: input }) => {
    const name = fitName(requestedName)
    const approval = findTool(toolsByName, name)?.approval
    return { id: newId(), name, arguments: input, ...(approval && { approval: approval.by }) }
  })
}

/** The tools in the form for the model. */
export function offersOf(options: LoopOptions): ToolOffer[] {
  return [...offeredTools(options)].map(([name, tool]) => ({ name, description: descriptionIn(options, tool), schema: tool.schema }))
}

/** Names are made over all tools, because the selection may change from turn to turn. */
function offeredTools(options: LoopOptions): Iterable<[string, Tool]> {
  const tools = options.tools()
  const toolsByName = nameTools(tools)
  if (!options.offered) return toolsByName
  const names = new Map([...toolsByName].map(([name, tool]) => [tool, name]))
  return options.offered(tools, options.messages).flatMap((tool): [string, Tool][] => {
    const name = names.get(tool)
    return name === undefined ? [] : [[name, tool]]
  })
}

function descriptionIn(options: LoopOptions, tool: Tool): string {
  return options.filters.length > 0 && tool.describe ? tool.describe(scopeIn(options, tool)) : tool.description
}
