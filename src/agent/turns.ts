import { Answer } from './answer.ts'
import { Interrupted } from './approval.ts'
import type { AgentEvent, EndReason, TextLabel } from './events.ts'
import { fitOutputs, repair } from './history.ts'
import type { AssistantMessage, Message, ToolCall } from './messages.ts'
import { fitImages } from './tool-images.ts'
import type { Model, ModelReply, RequestedCall, ToolOffer } from './model.ts'
import type { Tool } from './tool.ts'
import { callsWithoutResult, runCalls, scopeIn, type CallOptions } from './tool-calls.ts'
import { findTool, fitName, nameTools } from './tool-names.ts'

/** What a loop needs to run: an agent, where it stands, and the world as arguments. */
export interface LoopOptions extends CallOptions {
  model: Model
  system: string
  /** The transcript so far; the loop appends to it. Ends with a user message, or in the middle of a turn when a run goes on. */
  messages: Message[]
  /** Model calls that the run may make in all; the last is made without tools. */
  maxIterations: number
  /** Model calls made before, when a run goes on. */
  iterations?: number
  /** Of all tools, those that the model is told of, in this order; default: all. A call of another is made all the same. */
  offered?(all: readonly Tool[], messages: readonly Message[]): readonly Tool[]
  /** Tokens that the transcript is shown in: over that, tool output is cut for the model, old output first. Default: no bound. */
  windowTokens?: number
  /** The tool call in which the agent runs; absent: it is the run's own. */
  within?: string
  /** Why `signal` was aborted. */
  stopReason(): 'timeout' | 'cancelled'
}

/** A loop on its way. */
export interface Loop {
  readonly options: LoopOptions
  readonly answer: Answer
  /** Model calls made. */
  made: number
}

/** How the model is asked. */
export interface Asking {
  /** What its text is told as; undefined: it is not told. */
  label: TextLabel | undefined
  mayCall: boolean
}

export interface Turn {
  message: AssistantMessage
  finish: EndReason
}

export function startLoop(options: LoopOptions, earlier = ''): Loop {
  return { options, answer: new Answer(earlier), made: options.iterations ?? 0 }
}

/**
 * Drives `work` to exactly one `end` event, or to an `interrupt` where calls wait for approval. What is aborted, and what ran out of
 * model calls, ends with the best answer so far; a model that fails for good throws its `ModelError`.
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
 * Asks the model, runs the tools that it asked for, and tells it their results, until it answers in text alone; undefined when `upTo`
 * model calls are made before it does. The last call that the run may make is made without tools.
 */
export async function* turns(loop: Loop, asking: Asking, upTo = loop.options.maxIterations): AsyncGenerator<AgentEvent, Turn | undefined> {
  const { options, answer } = loop
  while (loop.made < upTo) {
    const isLast = ++loop.made === options.maxIterations
    const turn = yield* askModel(options, answer, { ...asking, mayCall: asking.mayCall && !isLast })
    if (turn.message.toolCalls.length === 0) return turn
    answer.stepsFollow()
    yield* runCalls(turn.message.toolCalls, options)
  }
  return undefined
}

/** The calls of a turn that a dead process left: those without a result are run, but never a `write` that may have been started. */
export async function* resumeCalls({ options }: Loop): AsyncGenerator<AgentEvent, void> {
  const open = callsWithoutResult(options.messages)
  if (open.length > 0) yield* runCalls(open, options, { resumed: true })
}

/** One model call: its text as it arrives, then the `turn` event. */
async function* askModel(options: LoopOptions, answer: Answer, { label, mayCall }: Asking): AsyncGenerator<AgentEvent, Turn> {
  const startedAt = options.now()
  options.signal.throwIfAborted()
  answer.turnStarts()
  const offers = mayCall ? offersOf(options) : []
  const reply = yield* relay(options, answer, label, offers)
  options.signal.throwIfAborted()
  const message = toMessage(reply, offers.length > 0, options)
  for (const text of answer.heldReasoning()) yield answer.add('reasoning', text)
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
  const trace = options.trace?.modelCall(options.within)
  const messages = fitOutputs(fitImages(repair(options.messages)), windowTokens)
  const replying = model.reply({ system, messages, tools, ...(trace && { trace }) }, signal)
  let isTold = false
  try {
    for (;;) {
      const next = await replying.next()
      if (next.done) return next.value
      const event = next.value
      if (event.type === 'retrying') {
        answer.startsAnew()
        // Of text that is not told nothing begins anew.
        if (isTold || label !== undefined) yield event
      } else if (event.type === 'text') {
        if (label !== undefined) yield answer.add(label, event.text)
      } else if (!answer.holds(event.text)) {
        isTold = true
        yield answer.add('reasoning', event.text)
      }
    }
  } finally {
    // Leaving the loop early must close the model's socket; at a normal end this does nothing.
    await replying.return(undefined as never)
  }
}

/** A call is only taken when tools were offered: what a model asks for beyond that is dropped. */
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
  const named = nameTools(tools())
  return requested.map(({ name: said, arguments: input }) => {
    const name = fitName(said)
    const approval = findTool(named, name)?.approval
    return { id: newId(), name, arguments: input, ...(approval && { approval: approval.by }) }
  })
}

/** What the model is told of its tools. */
export function offersOf(options: LoopOptions): ToolOffer[] {
  const named = [...toldOf(options)]
  return named.map(([name, tool]) => ({ name, description: descriptionIn(options, tool), schema: tool.schema }))
}

/** Names are made over all tools: which of them are told of may change from turn to turn. */
function toldOf(options: LoopOptions): Iterable<[string, Tool]> {
  const tools = options.tools()
  const named = nameTools(tools)
  if (!options.offered) return named
  const names = new Map([...named].map(([name, tool]) => [tool, name]))
  return options.offered(tools, options.messages).flatMap((tool): [string, Tool][] => {
    const name = names.get(tool)
    return name === undefined ? [] : [[name, tool]]
  })
}

function descriptionIn(options: LoopOptions, tool: Tool): string {
  return options.filters.length > 0 && tool.describe ? tool.describe(scopeIn(options, tool)) : tool.description
}
