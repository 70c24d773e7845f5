import { Answer } from './answer.ts'
import { Interrupted } from './approval.ts'
import type { Emit, EndReason, LoopEnd, LoopOutcome } from './events.ts'
import { callsWithoutResult, isRepair } from './history.ts'
import type { Message } from './messages.ts'
import { callModel, type Turn, type TurnOptions } from './model-call.ts'
import type { Loop, LoopOptions } from './options.ts'
import { askForRepair, countRepairs, endInSchema } from './structured-answer.ts'
import { runCalls } from './tool-calls.ts'

/**
 * Runs an agent until its answer, and emits its events. Resolves to the end of the agent, or to an interruption when calls wait for
 * a decision. An aborted agent, and an agent out of model calls, end with the best answer so far. Rejects with the `ModelError` of a
 * model that fails for good, and with the failure of an emit. When the promise has settled, no model call and no tool runs on.
 */
export async function runAgent(options: LoopOptions, receive: Emit): Promise<LoopOutcome> {
  const emitter = new Emitter(receive)
  const loop: Loop = { options, emit: emitter.emit, answer: new Answer(), callsMade: options.iterations ?? 0 }
  let reason: EndReason
  try {
    reason = await answerInSchema(loop)
  } catch (error) {
    // The failure of an emit counts more than the errors that follow from it.
    await emitter.settled
    if (!options.signal.aborted && error instanceof Interrupted) return { type: 'interrupt', calls: error.calls }
    if (!options.signal.aborted) throw error
    reason = options.stopReason()
  }
  const end = await toEnd(loop, reason)
  if (end.reason !== 'schema_mismatch' && loop.answer.needsRepeat) void loop.emit(loop.answer.repeat())
  await emitter.settled
  return { type: 'end', ...end }
}

async function toEnd({ options: { answerSchema, messages }, answer: { best } }: Loop, reason: EndReason): Promise<LoopEnd> {
  if (!answerSchema) return { reason }
  const lastText = best || messages.findLast((message) => message.role === 'assistant')?.text
  return endInSchema(answerSchema, reason, lastText ?? '')
}

/**
 * Works until an answer. While the answer does not fit the schema of the run, the model is asked to correct it, without tools, up to
 * `maxRepairs` times; each repair begins with a `retrying` event. The repairs are in the transcript, so that another process can go on with
 * them. Repairs do not count as iterations: a run with a single iteration has repairs too.
 */
async function answerInSchema(loop: Loop): Promise<EndReason> {
  const { options, emit, answer } = loop
  const { answerSchema: schema, messages, workflow = react } = options
  if (!schema) return workflow(loop)
  const answerAgain = async () => (await takeTurn(loop, { label: 'answer', mayCall: false })).finish
  // A run that failed and is repeated begins with its last answer, and gets new repairs.
  let repairs = isRepair(messages.at(-1)) ? countRepairs(messages) : 0
  let reason = await (repairs > 0 ? answerAgain() : workflow(loop))
  while (reason !== 'content_filter' && repairs < schema.maxRepairs) {
    const fault = await schema.faultOf(answer.best)
    if (fault === undefined) break
    repairs++
    // The answer so far is void, and never the best answer of a run that ends meanwhile.
    answer.replaceBest('')
    void emit({ type: 'retrying' })
    const message = { role: 'user' as const, text: askForRepair(fault), instruction: 'repair' as const }
    messages.push(message)
    await emit({ type: 'instruction', message })
    reason = await answerAgain()
  }
  return reason
}

/** Reason, act, observe: asks the model, runs the requested tools and appends the results, until the model answers in text alone. */
export async function react(loop: Loop): Promise<EndReason> {
  loop.answer.replaceBest(lastText(loop.options.messages))
  return answerTurns(loop)
}

/** Continues a transcript until the answer. */
export async function answerTurns(loop: Loop): Promise<EndReason> {
  const { options } = loop
  if (isAnswered(options.messages)) return 'stop'
  await resumeCalls(loop)
  const turn = await turns(loop, { label: 'answer', mayCall: true })
  // A resumed run had no model calls left.
  if (!turn) return 'max_iterations'
  const isCut = loop.callsMade === options.maxIterations && options.tools().length > 0
  return isCut && turn.finish === 'stop' ? 'max_iterations' : turn.finish
}

/** Runs turns until the model answers in text alone, and returns that turn; returns undefined when `upTo` model calls were made first. */
export async function turns(loop: Loop, turnOptions: TurnOptions, upTo = loop.options.maxIterations): Promise<Turn | undefined> {
  while (loop.callsMade < upTo) {
    // 1. Ask the model; the last model call of the run offers no tools.
    const isLast = ++loop.callsMade === loop.options.maxIterations
    const turn = await takeTurn(loop, { ...turnOptions, mayCall: turnOptions.mayCall && !isLast })
    // 4. A message without tool calls is the answer.
    if (turn.message.toolCalls.length === 0) return turn
    loop.answer.markStale()
    // 5. Run the tool calls: reads in parallel, writes one by one.
    // 6. Emit `result` as each call ends; append the results to the transcript in the order asked.
    // 7. Throw `Interrupted` when calls still wait for a decision.
    await runCalls(turn.message.toolCalls, loop)
    // 8. Start the next turn.
  }
  return undefined
}

/** One message of the model. */
async function takeTurn(loop: Loop, turnOptions: TurnOptions): Promise<Turn> {
  const { options } = loop
  const startedAt = options.now()
  options.signal.throwIfAborted()
  // 2. Emit `text` events as the reply arrives.
  const { message, usage, finish } = await callModel(loop, turnOptions)
  // 3. Append the message to the transcript and emit `turn`: a run can resume from here.
  options.messages.push(message)
  await loop.emit({ type: 'turn', message, usage, finish, startedAt, endedAt: options.now() })
  return { message, finish: finish === 'tool_calls' ? 'stop' : finish }
}

/** Runs the calls of a turn that a dead process left without results, but no `write` that may have started. */
export async function resumeCalls(loop: Loop): Promise<void> {
  const open = callsWithoutResult(loop.options.messages)
  if (open.length > 0) await runCalls(open, loop, { resumed: true })
}

/** True when a resumed run already has an answer. */
export function isAnswered(messages: readonly Message[]): boolean {
  const last = messages.at(-1)
  return last?.role === 'assistant' && last.toolCalls.length === 0 && (last.text !== '' || last.artifacts !== undefined)
}

/** The agent's last text since the last user message; empty at the start of a run. */
export function lastText(messages: readonly Message[]): string {
  const since = messages.slice(messages.findLastIndex((message) => message.role === 'user') + 1)
  return since.findLast((message) => message.role === 'assistant' && message.text !== '')?.text ?? ''
}

/**
 * Passes the events of an agent on, one at a time: while an event is being stored, later events wait, whichever call or inner
 * agent they come from. After a failure nothing is passed on, and every emit rejects with the failure.
 */
export class Emitter {
  /** True when an emit has failed. */
  hasFailed = false
  /** Settles with the newest event; absent when no event is being stored. */
  private last: Promise<void> | undefined
  private readonly receive: Emit

  constructor(receive: Emit) {
    this.receive = receive
  }

  readonly emit: Emit = (event) => {
    if (this.last) return this.waitFor(this.last.then(() => this.receive(event)))
    try {
      const storing = this.receive(event)
      return storing && this.waitFor(storing)
    } catch (error) {
      return this.waitFor(Promise.reject(error))
    }
  }

  /** Resolves when all events are stored; rejects with the failure of an emit. Undefined when all events are stored. */
  get settled(): Promise<void> | undefined {
    return this.last
  }

  private waitFor(storing: Promise<void>): Promise<void> {
    this.last = storing
    storing.then(
      () => {
        if (this.last === storing) this.last = undefined
      },
      // `last` remains, so that each later event fails with the same error.
      () => {
        this.hasFailed = true
      },
    )
    return storing
  }
}
