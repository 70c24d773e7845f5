import type { AgentEvent, EndReason, TextLabel } from './events.ts'
import { fitOutputs, repair } from './history.ts'
import type { AssistantMessage, Message } from './messages.ts'
import type { Model, ModelReply, ToolOffer } from './model.ts'
import type { Tool } from './tool.ts'
import { callsWithoutResult, runCalls, scopeOf, type CallOptions } from './tool-calls.ts'

/** What the loop needs to run: an agent, where it stands, and the world as arguments. */
export interface ReactOptions extends CallOptions {
  model: Model
  system: string
  /** The transcript so far; the loop appends to it. Ends with a user message, or in the middle of a turn when a run goes on. */
  messages: Message[]
  /** Model calls that the run may make in all; the last is made without tools. */
  maxIterations: number
  /** Model calls made before, when a run goes on. */
  iterations?: number
  /** Tokens that the transcript is shown in: over that, tool output is cut for the model, old output first. Default: no bound. */
  windowTokens?: number
  /** Why `signal` was aborted. */
  stopReason(): 'timeout' | 'cancelled'
}

/**
 * Reason, act, observe: asks the model, runs the tools that it asked for, and tells it their results, until it answers in text alone.
 * Ends with exactly one `end` event; a model that fails for good throws its `ModelError`.
 */
export async function* react(options: ReactOptions): AsyncGenerator<AgentEvent, void> {
  const answer = new Answer(lastText(options.messages))
  try {
    yield* resumeTurn(options)
    for (let turn = options.iterations ?? 0; turn < options.maxIterations; turn++) {
      const last = turn === options.maxIterations - 1
      const offers = last ? [] : options.tools.map((tool) => toOffer(tool, options))
      const reply = yield* askModel(options, offers, answer)
      if (reply.message.toolCalls.length === 0) {
        if (answer.needsRepeat) yield answer.repeat()
        return yield { type: 'end', reason: last && options.tools.length > 0 && reply.finish === 'stop' ? 'max_iterations' : reply.finish }
      }
      answer.stepsFollow()
      yield* runCalls(reply.message.toolCalls, options)
    }
    // Reached when a run goes on after its last model call.
    yield* finishEarly(answer, 'max_iterations')
  } catch (error) {
    if (!options.signal.aborted) throw error
    yield* finishEarly(answer, options.stopReason())
  }
}

function* finishEarly(answer: Answer, reason: EndReason): Generator<AgentEvent, void> {
  if (answer.needsRepeat) yield answer.repeat()
  yield { type: 'end', reason }
}

/** The calls of a turn that a dead process left: those without a result are run, but never a `write` that may have been started. */
async function* resumeTurn(options: ReactOptions): AsyncGenerator<AgentEvent, void> {
  const open = callsWithoutResult(options.messages)
  if (open.length > 0) yield* runCalls(open, options, { resumed: true })
}

interface Turn {
  message: AssistantMessage
  finish: EndReason
}

/** One model call: its text as it arrives, then the `turn` event. */
async function* askModel(options: ReactOptions, tools: ToolOffer[], answer: Answer): AsyncGenerator<AgentEvent, Turn> {
  const startedAt = options.now()
  options.signal.throwIfAborted()
  answer.turnStarts()
  const reply = yield* relay(options, tools, answer)
  options.signal.throwIfAborted()
  const message = toMessage(reply, tools.length > 0, options.newId)
  for (const text of answer.heldReasoning()) yield answer.add('reasoning', text)
  options.messages.push(message)
  yield { type: 'turn', message, usage: reply.usage, startedAt, endedAt: options.now() }
  return { message, finish: reply.finish === 'tool_calls' ? 'stop' : reply.finish }
}

async function* relay(options: ReactOptions, tools: ToolOffer[], answer: Answer): AsyncGenerator<AgentEvent, ModelReply> {
  const { model, system, signal, windowTokens = Infinity } = options
  const replying = model.reply({ system, messages: fitOutputs(repair(options.messages), windowTokens), tools }, signal)
  try {
    for (;;) {
      const next = await replying.next()
      if (next.done) return next.value
      const event = next.value
      if (event.type === 'retrying') {
        answer.startsAnew()
        yield event
      } else if (event.type === 'text') yield answer.add('answer', event.text)
      else if (!answer.holds(event.text)) yield answer.add('reasoning', event.text)
    }
  } finally {
    // Leaving the loop early must close the model's socket; at a normal end this does nothing.
    await replying.return(undefined as never)
  }
}

/** What the agent has said since the last user message; empty when a run begins. */
function lastText(messages: readonly Message[]): string {
  const since = messages.slice(messages.findLastIndex((message) => message.role === 'user') + 1)
  return since.findLast((message) => message.role === 'assistant' && message.text !== '')?.text ?? ''
}

/** A call is only taken when tools were offered: what a model asks for beyond that is dropped. */
function toMessage(reply: ModelReply, mayCall: boolean, newId: () => string): AssistantMessage {
  const toolCalls = mayCall ? reply.toolCalls.map((call) => ({ id: newId(), name: call.name, arguments: call.arguments })) : []
  return {
    role: 'assistant',
    text: reply.text,
    toolCalls,
    ...(reply.reasoning ? { reasoning: reply.reasoning } : {}),
    ...(reply.vendor ? { vendor: reply.vendor } : {}),
  }
}

function toOffer(tool: Tool, { tools, filters }: ReactOptions): ToolOffer {
  const { name, description, schema } = tool
  const isScoped = filters.length > 0 && tool.describe !== undefined
  return { name, description: isScoped ? tool.describe!(scopeOf(tool, tools, filters)) : description, schema }
}

/**
 * Keeps the rule that the answer is the `answer` text behind the last event with another label: reasoning that comes after the answer
 * has begun is held back until the model has finished, and an answer that something came behind is told once more.
 */
class Answer {
  /** Text of the last turn before this one which had any. */
  private earlier: string
  private current = ''
  private held: string[] = []
  /** A run that goes on has steps behind what was said before. */
  private somethingBehind = true

  constructor(earlier: string) {
    this.earlier = earlier
  }

  turnStarts(): void {
    this.earlier = this.best
    this.current = ''
  }

  stepsFollow(): void {
    this.somethingBehind = true
  }

  startsAnew(): void {
    this.current = ''
    this.held = []
    this.somethingBehind = true
  }

  holds(reasoning: string): boolean {
    if (this.current === '') return false
    this.held.push(reasoning)
    return true
  }

  add(label: TextLabel, text: string): AgentEvent {
    if (label === 'answer') this.current += text
    if (text !== '') this.somethingBehind = label !== 'answer'
    return { type: 'text', label, text }
  }

  heldReasoning(): string[] {
    return this.held.splice(0)
  }

  /** What a broken attempt said is void, and no answer. */
  private get best(): string {
    return this.current === '' ? this.earlier : this.current
  }

  get needsRepeat(): boolean {
    return this.somethingBehind && this.best !== ''
  }

  repeat(): AgentEvent {
    this.somethingBehind = false
    return { type: 'text', label: 'answer', text: this.best }
  }
}
