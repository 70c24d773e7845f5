import { Answer } from './answer.ts'
import { Interrupted } from './approval.ts'
import type { Emit, EndReason, LoopOutcome } from './events.ts'
import type { PreparedCall } from './call.ts'
import { callsWithoutResult } from './history.ts'
import { deliverWaiting, isUnanswered } from './inbox.ts'
import type { Message } from './messages.ts'
import { ModelCall, type Turn, type TurnOptions } from './model-call.ts'
import type { Loop, LoopOptions } from './options.ts'
import { answerInSchema, endInSchema } from './structured-answer.ts'
import { BudgetSpent, toBudgetCall } from './meter.ts'
import { ModelError, type ModelReply } from './model.ts'
import { brokenOff, keepFiles } from './provider-steps.ts'
import { firstStart, prepareCalls, runCalls } from './tool-calls.ts'
import { reachState } from '../states.ts'

/**
 * Runs an agent until its answer, and emits its events. Resolves to the end of the agent, or to an interruption when calls wait for
 * a decision. An aborted agent, and an agent out of model calls, end with the best answer so far. Rejects with the `ModelError` of a
 * model that fails for good, and with the failure of an emit. When the promise has settled, no model call and no tool runs on.
 */
export async function runAgent(options: LoopOptions, receive: Emit): Promise<LoopOutcome> {
  const { answerSchema, workflow = react, signal } = options
  const emitter = new Emitter(receive)
  const answer = new Answer()
  const { iterations: callsMade = 0, maxIterations, messages } = options
  const callLimit = callsMade >= maxIterations && isUnanswered(messages) ? maxIterations + 1 : maxIterations
  const loop: Loop = { options, emit: emitter.emit, answer, callsMade, callLimit }
  let reason: EndReason
  try {
    reason = await (answerSchema ? answerInSchema(loop, answerSchema, workflow, takeTurn) : workflow(loop))
  } catch (error) {
    // The failure of an emit counts more than the errors that follow from it.
    await emitter.settled
    if (!signal.aborted && error instanceof Interrupted) return { type: 'interrupt', calls: error.calls }
    const spent = error instanceof BudgetSpent && !signal.aborted ? error : undefined
    if (spent?.onExceeded === 'pause') {
      reachState('budget-paused')
      return { type: 'interrupt', calls: [toBudgetCall(spent, options.newId())] }
    }
    if (!spent && !signal.aborted) throw error
    reason = spent ? await answerWithRest(loop) : options.stopReason()
  }
  const end = answerSchema ? await endInSchema(answerSchema, reason, loop) : { reason }
  if (answer.isStale && end.reason !== 'schema_mismatch' && answer.best !== '') void loop.emit(answer.repeat())
  if (emitter.settled) await emitter.settled
  return { type: 'end', ...end }
}

/** Reason, act, observe: asks the model, runs the requested tools and appends the results, until the model answers in text alone. */
export function react(loop: Loop): Promise<EndReason> {
  const { messages } = loop.options
  // A resumed run has messages behind the question.
  const last = messages.at(-1)
  if (last?.role !== 'user' || last.steer) loop.answer.replaceBest(lastText(messages))
  return answerTurns(loop)
}

/** Continues a transcript until the answer. */
export async function answerTurns(loop: Loop): Promise<EndReason> {
  const { options } = loop
  if (options.messages.at(-1)?.role !== 'user') {
    if (isAnswered(options.messages)) return 'stop'
    await resumeCalls(loop)
  }
  const turn = await turns(loop, { label: 'answer', mayCall: true })
  // A resumed run had no model calls left.
  if (!turn) return 'max_iterations'
  const isCut = loop.callsMade >= options.maxIterations && options.tools().length > 0
  return isCut && turn.finish === 'stop' ? 'max_iterations' : turn.finish
}

/**
 * Runs turns until the model answers in text alone, and returns that turn; returns undefined when `upTo` model calls were made first. Turns for
 * the answer deliver the messages of people before each model call, and go on behind an answer that a message has overtaken.
 */
export async function turns(loop: Loop, turnOptions: TurnOptions, upTo?: number): Promise<Turn | undefined> {
  const { inbox, maxIterations } = loop.options
  const takesMessages = turnOptions.label === 'answer' && !turnOptions.isPlanned && inbox !== undefined
  for (;;) {
    if (takesMessages && inbox.isWaiting) await deliverWaiting(loop)
    if (loop.callsMade >= (upTo ?? loop.callLimit)) return undefined
    // 1. Ask the model; the last model call of the run offers no tools.
    const isLast = ++loop.callsMade >= maxIterations
    const turn = await takeTurn(loop, isLast && turnOptions.mayCall ? { ...turnOptions, mayCall: false } : turnOptions)
    // 4. A message without tool calls is the answer.
    if (turn.message.toolCalls.length === 0) {
      if (takesMessages && inbox.isWaiting && (await deliverWaiting(loop))) continue
      return turn
    }
    loop.answer.isStale = true
    // 5. Run the tool calls: reads in parallel, writes one by one.
    // 6. Emit `result` as each call ends; append the results to the transcript in the order asked.
    // 7. Throw `Interrupted` when calls still wait for a decision.
    await runCalls(turn.calls, loop)
    // 8. Start the next turn.
  }
}

/** One message of the model. */
async function takeTurn(loop: Loop, turnOptions: TurnOptions): Promise<Turn & { calls: PreparedCall[] }> {
  const { options } = loop
  const startedAt = options.now()
  options.signal.throwIfAborted()
  const call = new ModelCall(loop, turnOptions)
  let answered: ModelReply
  try {
    // 2. Emit `text` events as the reply arrives.
    answered = await options.model.reply(call.request, call.relay.take, options.signal)
  } catch (error) {
    void call.relay.steps?.close(brokenOff)
    throw error
  }
  const reply = call.receive(answered)
  const message = call.toMessage(reply, reply.files && (await keepFiles(reply, options)))
  const { usage, finish } = reply
  // 3. Append the message to the transcript and emit `turn`: a run can resume from here.
  options.messages.push(message)
  const hasCalls = message.toolCalls.length > 0
  const calls = hasCalls ? await prepareCalls(message.toolCalls, options) : []
  const starts = hasCalls ? firstStart(calls, options) : undefined
  const storing = loop.emit({ type: 'turn', message, usage, finish, startedAt, endedAt: options.now(), ...(starts && { starts }) })
  if (storing) await storing
  return { message, finish: finish === 'tool_calls' ? 'stop' : finish, calls }
}

/** One answer without tools, if the rest of the budget pays for it. Without an answer, and without an earlier text, the refusal is thrown. */
async function answerWithRest(loop: Loop): Promise<EndReason> {
  try {
    await takeTurn(loop, { label: 'answer', mayCall: false, isBare: true })
    reachState('budget-closing-call')
  } catch (error) {
    if (loop.options.signal.aborted) return loop.options.stopReason()
    const isRefused = error instanceof BudgetSpent || error instanceof ModelError
    if (!isRefused || loop.answer.best === '') throw error
  }
  return 'budget_exceeded'
}

/** Runs the calls of a turn that a dead process left without results, but no `write` that may have started. */
export async function resumeCalls(loop: Loop): Promise<void> {
  const open = callsWithoutResult(loop.options.messages)
  if (open.length > 0) await runCalls(await prepareCalls(open, loop.options), loop, { resumed: true })
}

/** True when a resumed run already has an answer. */
export function isAnswered(messages: readonly Message[]): boolean {
  const last = messages.at(-1)
  return last?.role === 'assistant' && last.toolCalls.length === 0 && (last.text !== '' || last.artifacts !== undefined)
}

/** The agent's last text since the question or the last instruction; empty at the start of a run. */
export function lastText(messages: readonly Message[]): string {
  const since = messages.slice(messages.findLastIndex((message) => message.role === 'user' && !message.steer) + 1)
  return since.findLast((message) => message.role === 'assistant' && message.text !== '')?.text ?? ''
}

/**
 * Passes the events of an agent on, one at a time: while an event is being stored, later events wait, whichever call or inner
 * agent they come from. After a failure nothing is passed on, and every emit rejects with the failure.
 */
export class Emitter {
  /** Settles with the newest event, and rejects with the failure of an emit; absent when all events are stored. */
  settled: Promise<void> | undefined
  private readonly receive: Emit

  constructor(receive: Emit) {
    this.receive = receive
  }

  readonly emit: Emit = (event) => {
    if (this.settled) return this.waitFor(this.settled.then(() => this.receive(event)))
    try {
      const storing = this.receive(event)
      return storing && this.waitFor(storing)
    } catch (error) {
      return this.waitFor(Promise.reject(error))
    }
  }

  private waitFor(storing: Promise<void>): Promise<void> {
    this.settled = storing
    storing.then(
      () => {
        if (this.settled === storing) this.settled = undefined
      },
      // `settled` remains, so that each later event fails with the same error.
      () => undefined,
    )
    return storing
  }
}
