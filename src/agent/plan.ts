import type { EndReason, Step } from './events.ts'
import { deliverWaiting, isQuestion, isSteer } from './inbox.ts'
import { answerTurns, isAnswered, lastText, resumeCalls, turns } from './loop.ts'
import { BudgetSpent } from './meter.ts'
import type { Rewrite } from './images/rewrite.ts'
import type { JsonObject, Instruction, Message } from './messages.ts'
import { offersOf } from './model-call.ts'
import type { Loop, LoopOptions } from './options.ts'
import type { ToolOffer } from './model.ts'
import { parseJson } from '../json/shape.ts'

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
    if (options.inbox?.isWaiting && positionIn(options.messages).open === undefined) await deliverWaiting(loop)
    const position = positionIn(options.messages)
    answer.replaceBest(bestSoFar(options, position))
    if (position.last === 'answer' && isAnswered(options.messages)) return 'stop'
    const next = position.open ?? nextOf(position, loop.callLimit - loop.callsMade)
    if (position.open === undefined) await instruct(loop, next, position)
    if (next === 'answer') {
      const reason = await close(loop, position)
      // A message that has overtaken the answer changes the plan.
      if (options.inbox?.isWaiting && (await deliverWaiting(loop))) continue
      return reason
    }
    if (next === 'step') await turns(loop, { label: 'planning', mayCall: true }, loop.callLimit - 1)
    else await makePlan(loop, next, position)
    if (positionIn(options.messages).open) {
      // Out of model calls within a step: the last call is for the answer.
      await instruct(loop, 'answer', position)
      return await close(loop, position)
    }
  }
}

/** Picks the next instruction; the last model call is reserved for the answer. */
function nextOf({ plan, ended, hasFailed, isSteered, changes }: PlanPosition, callsLeft: number): PlanInstruction {
  if (callsLeft <= 1) return 'answer'
  if (!plan) return 'plan'
  if (isSteered && changes < maxChanges) return 'adapt'
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
  if (instruction === 'adapt') return askToAdapt(plan.slice(ended))
  return ended === 0 ? askToDoIt : askForAnswer
}

/** Makes one model call whose text is the plan; publishes the plan as a list and as a step. */
async function makePlan(loop: Loop, kind: 'plan' | 'change' | 'adapt', { plan = [], ended }: PlanPosition): Promise<void> {
  const { options, answer, emit } = loop
  if (options.pace) await options.pace.plan(options.subAgent)
  const failed: JsonObject = kind === 'change' ? { failed: plan[ended - 1] ?? '', why: lastTextBefore(options) } : {}
  const input: JsonObject = kind === 'adapt' ? { message: options.messages.findLast(isSteer)?.text ?? '' } : failed
  const start = {
    id: options.newId(),
    type: 'planning' as const,
    tool: kind === 'plan' ? kind : 'change',
    input,
    startedAt: options.now(),
    ...bySubAgent(options),
  }
  const end = async (made: Pick<Step, 'log' | 'output' | 'status'>) =>
    emit({ type: 'step_end', step: { ...start, ...made, durationMs: options.now() - start.startedAt } })
  await emit({ type: 'step_start', step: start })
  const turn = await turns(loop, { label: undefined, mayCall: false, rewrite: rewritePlan }, loop.callLimit - 1).catch(
    async (error: unknown) => {
      // A run that goes on later plans in another step.
      if (error instanceof BudgetSpent) await end({ log: error.message, output: { error: error.message }, status: 'error' })
      throw error
    },
  )
  const text = turn?.message.text ?? ''
  const output = kind === 'plan' ? planFrom(text) : (parsePlan(text) ?? [])
  const log = output.length > 0 ? toList(output) : 'Nothing is left to be done.'
  void emit(answer.add('planning', `${log}\n`))
  await end({ log, output, status: turn ? 'success' : 'error' })
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
  const turn = await turns(loop, { label: 'answer', mayCall: false, isPlanned: true })
  if (!turn) return 'max_iterations'
  return !isDone && loop.callsMade === options.maxIterations && turn.finish === 'stop' ? 'max_iterations' : turn.finish
}

/** The answer of a run that must end now: the answer text so far, or the results of the steps. */
function bestSoFar({ messages }: LoopOptions, { last, results }: PlanPosition): string {
  const answer = last === 'answer' ? lastText(messages) : ''
  return answer === '' ? results.join('\n\n') : answer
}

export type PlanInstruction = Exclude<Instruction, 'repair'>

/** The progress of a run with a plan, read from its transcript alone, so that any process can resume the run. */
export interface PlanPosition {
  /** All steps, done and open; undefined before there is a plan. */
  plan: string[] | undefined
  /** Number of ended steps. */
  ended: number
  /** True when the last step failed and the plan was not changed since. */
  hasFailed: boolean
  /** True when a person has sent a message since, and the plan was not changed since. */
  isSteered: boolean
  /** Number of changes of the plan. */
  changes: number
  /** Results of the successful steps. */
  results: string[]
  /** The unfinished instruction. */
  open: PlanInstruction | undefined
  /** The last instruction. */
  last: PlanInstruction | undefined
  /** Texts for people: plans, and steps with results. */
  planningTexts: string[]
}

/** The position behind the transcript's last message. The request is the last message of a person. */
export function positionIn(messages: readonly Message[]): PlanPosition {
  const position: PlanPosition = {
    plan: undefined,
    ended: 0,
    hasFailed: false,
    isSteered: false,
    changes: 0,
    results: [],
    open: undefined,
    last: undefined,
    planningTexts: [],
  }
  const request = messages.findLastIndex(isQuestion)
  let calls = { made: 0, failed: 0 }
  for (const message of messages.slice(request + 1)) {
    if (isSteer(message)) position.isSteered = position.open === undefined
    else if (message.role === 'user') {
      if (message.instruction !== 'step') position.isSteered = false
      // A repair asks for the same answer again.
      position.open = position.last = message.instruction === 'repair' ? 'answer' : message.instruction
      calls = { made: 0, failed: 0 }
    } else if (message.role === 'tool') {
      calls.made++
      if (message.isError) calls.failed++
    } else if (message.toolCalls.length === 0) {
      endInstruction(position, message.text, calls.made > 0 && calls.failed === calls.made)
    }
  }
  return position
}

function endInstruction(position: PlanPosition, text: string, isWithoutResult: boolean): void {
  const { open } = position
  position.open = undefined
  if (open === 'plan') {
    position.plan = planFrom(text)
    position.planningTexts.push(toList(position.plan))
  } else if (open === 'change' || open === 'adapt') {
    const rest = parsePlan(text) ?? []
    position.plan = [...(position.plan ?? []).slice(0, position.ended), ...rest]
    position.changes++
    position.hasFailed = false
    position.planningTexts.push(toList(rest))
  } else if (open === 'step') {
    const step = position.plan?.[position.ended++] ?? ''
    position.hasFailed = saysFailed(text) || isWithoutResult
    if (!position.hasFailed) position.results.push(text)
    position.planningTexts.push(`${step}\n${text}`)
  }
}

/** The steps of a plan; a text without a plan becomes one step with the whole request. */
export function planFrom(text: string): string[] {
  const steps = parsePlan(text) ?? []
  return steps.length > 0 ? steps : ['Do what was asked.']
}

/** The planning texts of a run; empty for a run without a plan. */
export function planningOf(messages: readonly Message[]): string[] {
  return positionIn(messages).planningTexts.filter((text) => text.trim() !== '')
}

const maxSteps = 12
const maxStepCharacters = 1000
const maxToolCharacters = 200
const maxPlanCharacters = 50_000

export function askForPlan(tools: readonly Pick<ToolOffer, 'name' | 'description'>[]): string {
  const lines = tools.map(({ name, description }) => `- ${name}: ${firstLine(description)}`)
  const toolList = lines.length > 0 ? `\nThe steps can use these tools:\n${lines.join('\n')}` : ''
  return `Before anything is done, make a plan. Answer with a JSON list of its steps and nothing else: ["first step", "second step"].
Each step is one sentence that says what is to be done, and can be done alone. As few steps as will do, ${maxSteps} at most; one where no more are needed.${toolList}`
}

export function askForStep(step: string, number: number, total: number): string {
  return `Step ${number} of ${total}: ${step}
Do this step alone, with your tools, and answer with its result. If it can't be done, begin your answer with FAILED: and say why.`
}

export function askForChange(rest: readonly string[]): string {
  const open = rest.length > 0 ? ` The steps behind it were: ${JSON.stringify(rest)}.` : ''
  return `This step failed.${open} Change the plan: answer with a JSON list of the steps that are to be done from here on and nothing else, [] if nothing would help.`
}

export function askToAdapt(rest: readonly string[]): string {
  const open = rest.length > 0 ? ` The open steps were: ${JSON.stringify(rest)}.` : ''
  return `The person has sent a further message.${open} Change the plan: answer with a JSON list of the steps that are to be done from here on and nothing else, [] if none is needed.`
}

export const askForAnswer = 'Now answer the request itself, from the results of the steps. Say what could not be done.'
export const askToDoIt = 'Now do it, and answer the request.'

/** True when the model reports that the step failed. */
export function saysFailed(text: string): boolean {
  return /^\W*failed\b/i.test(text)
}

/** The text that opens a step, for people. `number` counts from 1. */
export function stepOpening(number: number, total: number, step: string): string {
  return `\nStep ${number} of ${total}: ${step}\n`
}

/** The plan as a numbered list for people. */
export function toList(steps: readonly string[]): string {
  return steps.map((step, at) => `${at + 1}. ${step}`).join('\n')
}

/**
 * The steps in a model's answer: a JSON list of texts or of objects with a text, within prose, fences or an object; or
 * a numbered list. Returns undefined when there is no list; an empty list counts.
 */
export function parsePlan(text: string): string[] | undefined {
  const short = text.slice(0, maxPlanCharacters)
  const list = parseList(short) ?? numbered(short)
  if (!list) return undefined
  const steps = list.map(toStep).filter((step) => step !== '')
  return steps.slice(0, maxSteps).map((step) => step.slice(0, maxStepCharacters).toWellFormed())
}

/** Steps stand beside other texts, so the beginning of a picture in a step goes too. */
const rewritePlan: Rewrite = (reply, toText) => {
  const steps = parsePlan(reply)
  const rewritten = steps?.map((step) =>
    toText(step)
      .replaceAll('![', '[')
      .replace(/<(?=[a-z][^>]*$)/i, ''),
  )
  return steps && steps.some((step, at) => step !== rewritten![at]) ? JSON.stringify(rewritten) : reply
}

function parseList(text: string): unknown[] | undefined {
  const end = text.lastIndexOf(']')
  // Prose may hold brackets too: try a few start positions, never all.
  let start = text.indexOf('[')
  for (let tries = 0; start >= 0 && start < end && tries < maxTries; tries++, start = text.indexOf('[', start + 1)) {
    const list = [end, text.indexOf(']', start)].map((last) => parseJson(text.slice(start, last + 1))).find(isList)
    if (list) return list
  }
  return undefined
}

const maxTries = 5

/** `[1]` is a footnote in prose, not a plan. */
function isList(value: unknown): value is unknown[] {
  return Array.isArray(value) && value.every((item) => typeof item !== 'number')
}

function numbered(text: string): string[] | undefined {
  const steps = text.split('\n').flatMap((line) => /^\s{0,8}(?:step )?\d{1,2}[.):]\s+(\S.*)$/i.exec(line)?.[1] ?? [])
  return steps.length > 1 ? steps : undefined
}

function toStep(value: unknown): string {
  if (typeof value === 'string') return value.replace(/\s+/g, ' ').trim()
  if (typeof value !== 'object' || value === null) return ''
  const texts = value as Record<string, unknown>
  const labelled = ['step', 'task', 'description', 'action', 'title', 'name']
    .map((key) => texts[key])
    .find((item) => typeof item === 'string')
  return toStep(labelled ?? Object.values(texts).find((item) => typeof item === 'string'))
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0]!.slice(0, maxToolCharacters)
}
