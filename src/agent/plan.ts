import type { AgentEvent, EndReason } from './events.ts'
import type { Instruction, JsonObject } from './messages.ts'
import { planFrom, positionIn, type Position } from './plan-position.ts'
import { askForAnswer, askForChange, askForPlan, askForStep, askToDoIt, parsePlan, toList } from './plan-text.ts'
import { answerTurns, isAnswered, lastText } from './react.ts'
import { offersOf, resumeCalls, startLoop, turns, untilEnd, type Loop, type LoopOptions } from './turns.ts'

/** A plan that failed so often will not succeed. */
const maxChanges = 3

/**
 * Plan and execute: the model makes a plan, does it step by step with its tools, changes it where a step fails, and answers in the end.
 * What it says on the way is `planning`, only the closing text is `answer`. All state is in the transcript. Ends with exactly one `end`
 * event; a model that fails for good throws its `ModelError`.
 */
export async function* planExecute(options: LoopOptions): AsyncGenerator<AgentEvent, void> {
  const loop = startLoop(options)
  yield* untilEnd(loop, steps(loop))
}

async function* steps(loop: Loop): AsyncGenerator<AgentEvent, EndReason> {
  const { options, answer } = loop
  yield* resumeCalls(loop)
  for (;;) {
    options.signal.throwIfAborted()
    const position = positionIn(options.messages)
    answer.gains(bestSoFar(options, position))
    if (position.last === 'answer' && isAnswered(options.messages)) return 'stop'
    const next = position.open ?? nextOf(position, options.maxIterations - loop.made)
    if (position.open === undefined) yield* instruct(loop, next, position)
    if (next === 'answer') return yield* close(loop, position)
    if (next === 'step') yield* turns(loop, { label: 'planning', mayCall: true }, options.maxIterations - 1)
    else yield* makePlan(loop, next, position)
    if (positionIn(options.messages).open) {
      // Out of model calls in the middle of it: the last one is for the answer.
      yield* instruct(loop, 'answer', position)
      return yield* close(loop, position)
    }
  }
}

/** One call is kept for the answer. */
function nextOf({ plan, ended, hasFailed, changes }: Position, callsLeft: number): Instruction {
  if (callsLeft <= 1) return 'answer'
  if (!plan) return 'plan'
  if (isDirect({ plan, changes })) return 'answer'
  if (hasFailed) return changes < maxChanges ? 'change' : 'answer'
  return ended < plan.length ? 'step' : 'answer'
}

/** A plan of one step is no plan: its result is the answer. */
function isDirect({ plan, changes }: Pick<Position, 'plan' | 'changes'>): boolean {
  return plan?.length === 1 && changes === 0
}

/** Puts a message into the transcript that no person wrote. */
async function* instruct({ options, answer }: Loop, instruction: Instruction, position: Position): AsyncGenerator<AgentEvent, void> {
  const { plan = [], ended } = position
  // Before the message: whoever goes on from there has told it.
  if (instruction === 'step') yield answer.add('planning', `\nStep ${ended + 1} of ${plan.length}: ${plan[ended]}\n`)
  const message = { role: 'user' as const, text: textOf(options, instruction, position), instruction }
  options.messages.push(message)
  yield { type: 'instruction', message }
}

function textOf(options: LoopOptions, instruction: Instruction, position: Position): string {
  const { plan = [], ended } = position
  if (instruction === 'plan') return askForPlan(offersOf(options))
  if (instruction === 'step') return askForStep(plan[ended]!, ended + 1, plan.length)
  if (instruction === 'change') return askForChange(plan.slice(ended))
  return ended === 0 ? askToDoIt : askForAnswer
}

/** One model call whose answer is the plan; told as a list and as a step. */
async function* makePlan(loop: Loop, kind: 'plan' | 'change', { plan = [], ended }: Position): AsyncGenerator<AgentEvent, void> {
  const { options, answer } = loop
  const input: JsonObject = kind === 'plan' ? {} : { failed: plan[ended - 1] ?? '', why: lastTextBefore(options) }
  const start = { id: options.newId(), type: 'planning' as const, tool: kind, input, startedAt: options.now(), ...bySubAgent(options) }
  yield { type: 'step_start', step: start }
  const turn = yield* turns(loop, { label: undefined, mayCall: false }, options.maxIterations - 1)
  const text = turn?.message.text ?? ''
  const output = kind === 'plan' ? planFrom(text) : (parsePlan(text) ?? [])
  const log = output.length > 0 ? toList(output) : 'Nothing is left to be done.'
  yield answer.add('planning', `${log}\n`)
  yield {
    type: 'step_end',
    step: { ...start, log, output, status: turn ? 'success' : 'error', durationMs: options.now() - start.startedAt },
  }
}

function bySubAgent({ subAgent }: LoopOptions): { subAgent?: string } {
  return subAgent === undefined ? {} : { subAgent }
}

/** What the model said before it was told to change the plan. */
function lastTextBefore({ messages }: LoopOptions): string {
  return lastText(messages.slice(0, -1))
}

/** The closing answer. With a plan of one step it is made with tools, as in ReAct; else from what the steps gave. */
async function* close(loop: Loop, position: Position): AsyncGenerator<AgentEvent, EndReason> {
  const { options } = loop
  const isDone = position.plan !== undefined && (position.ended >= position.plan.length || position.hasFailed)
  if (position.ended === 0) return yield* answerTurns(loop)
  const turn = yield* turns(loop, { label: 'answer', mayCall: false })
  if (!turn) return 'max_iterations'
  return !isDone && loop.made === options.maxIterations && turn.finish === 'stop' ? 'max_iterations' : turn.finish
}

/** What a run that must end now has to say: the results of its steps, or what it has said of the answer. */
function bestSoFar({ messages }: LoopOptions, { last, results }: Position): string {
  const answer = last === 'answer' ? lastText(messages) : ''
  return answer === '' ? results.join('\n\n') : answer
}
