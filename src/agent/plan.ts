import type { EndReason } from './events.ts'
import { answerTurns, isAnswered, lastText, resumeCalls, turns } from './loop.ts'
import type { JsonObject } from './messages.ts'
import {
  planFrom,
  positionIn,
  type PlanInstruction,
  type PlanPosition,
  askForAnswer,
  askForChange,
  askForPlan,
  askForStep,
  askToDoIt,
  parsePlan,
  stepOpening,
  toList,
} from './plan-position.ts'
import { offersOf } from './model-call.ts'
import type { Loop, LoopOptions } from './options.ts'

/** Maximum number of changes: further changes of a plan rarely help. */
const maxChanges = 3

/**
 * Plan and execute: the model makes a plan, runs the steps in order with tools, changes the plan when a step fails, and
 * answers at the end. Text on the way is labelled `planning`; only the closing text is `answer`. All state is in the
 * transcript.
 */
export async function planExecute(loop: Loop): Promise<EndReason> {
  const { options, answer } = loop
  await resumeCalls(loop)
  for (;;) {
    options.signal.throwIfAborted()
    const position = positionIn(options.messages)
    answer.replaceBest(bestSoFar(options, position))
    if (position.last === 'answer' && isAnswered(options.messages)) return 'stop'
    const next = position.open ?? nextOf(position, options.maxIterations - loop.callsMade)
    if (position.open === undefined) await instruct(loop, next, position)
    if (next === 'answer') return await close(loop, position)
    if (next === 'step') await turns(loop, { label: 'planning', mayCall: true }, options.maxIterations - 1)
    else await makePlan(loop, next, position)
    if (positionIn(options.messages).open) {
      // Out of model calls within a step: the last call is for the answer.
      await instruct(loop, 'answer', position)
      return await close(loop, position)
    }
  }
}

/** Picks the next instruction; the last model call is reserved for the answer. */
function nextOf({ plan, ended, hasFailed, changes }: PlanPosition, callsLeft: number): PlanInstruction {
  if (callsLeft <= 1) return 'answer'
  if (!plan) return 'plan'
  if (isDirect({ plan, changes })) return 'answer'
  if (hasFailed) return changes < maxChanges ? 'change' : 'answer'
  return ended < plan.length ? 'step' : 'answer'
}

/** A plan of one step is not executed as a plan: the step's result is the answer. */
function isDirect({ plan, changes }: Pick<PlanPosition, 'plan' | 'changes'>): boolean {
  return plan?.length === 1 && changes === 0
}

/** Appends an instruction of the loop to the transcript. */
async function instruct({ options, answer, emit }: Loop, instruction: PlanInstruction, position: PlanPosition): Promise<void> {
  const { plan = [], ended } = position
  // Published before the message, so that a process that resumes behind the message does not publish the step again.
  if (instruction === 'step') void emit(answer.add('planning', stepOpening(ended + 1, plan.length, plan[ended]!)))
  const message = { role: 'user' as const, text: textOf(options, instruction, position), instruction }
  options.messages.push(message)
  await emit({ type: 'instruction', message })
}

function textOf(options: LoopOptions, instruction: PlanInstruction, position: PlanPosition): string {
  const { plan = [], ended } = position
  if (instruction === 'plan') return askForPlan(offersOf(options))
  if (instruction === 'step') return askForStep(plan[ended]!, ended + 1, plan.length)
  if (instruction === 'change') return askForChange(plan.slice(ended))
  return ended === 0 ? askToDoIt : askForAnswer
}

/** Makes one model call whose text is the plan; publishes the plan as a list and as a step. */
async function makePlan(loop: Loop, kind: 'plan' | 'change', { plan = [], ended }: PlanPosition): Promise<void> {
  const { options, answer, emit } = loop
  const input: JsonObject = kind === 'plan' ? {} : { failed: plan[ended - 1] ?? '', why: lastTextBefore(options) }
  const start = { id: options.newId(), type: 'planning' as const, tool: kind, input, startedAt: options.now(), ...bySubAgent(options) }
  await emit({ type: 'step_start', step: start })
  const turn = await turns(loop, { label: undefined, mayCall: false }, options.maxIterations - 1)
  const text = turn?.message.text ?? ''
  const output = kind === 'plan' ? planFrom(text) : (parsePlan(text) ?? [])
  const log = output.length > 0 ? toList(output) : 'Nothing is left to be done.'
  void emit(answer.add('planning', `${log}\n`))
  const status = turn ? 'success' : 'error'
  await emit({ type: 'step_end', step: { ...start, log, output, status, durationMs: options.now() - start.startedAt } })
}

function bySubAgent({ subAgent }: LoopOptions): { subAgent?: string } {
  return subAgent === undefined ? {} : { subAgent }
}

/** The last text of the model before the instruction to change the plan. */
function lastTextBefore({ messages }: LoopOptions): string {
  return lastText(messages.slice(0, -1))
}

/**
 * The closing answer. With a plan of one step the answer is made with tools, as in ReAct; otherwise from the results of
 * the steps.
 */
async function close(loop: Loop, position: PlanPosition): Promise<EndReason> {
  const { options } = loop
  const isDone = position.plan !== undefined && (position.ended >= position.plan.length || position.hasFailed)
  if (position.ended === 0) return await answerTurns(loop)
  const turn = await turns(loop, { label: 'answer', mayCall: false })
  if (!turn) return 'max_iterations'
  return !isDone && loop.callsMade === options.maxIterations && turn.finish === 'stop' ? 'max_iterations' : turn.finish
}

/** The answer of a run that must end now: the answer text so far, or the results of the steps. */
function bestSoFar({ messages }: LoopOptions, { last, results }: PlanPosition): string {
  const answer = last === 'answer' ? lastText(messages) : ''
  return answer === '' ? results.join('\n\n') : answer
}
