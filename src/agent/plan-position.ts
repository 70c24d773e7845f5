import type { Instruction, Message } from './messages.ts'
import type { ToolOffer } from './model.ts'

export type PlanInstruction = Exclude<Instruction, 'repair'>

/** The progress of a run with a plan, read from its transcript alone, so that any process can resume the run. */
export interface PlanPosition {
  /** All steps, done and open; undefined before there is a plan. */
  plan: string[] | undefined
  /** Number of ended steps. */
  ended: number
  /** True when the last step failed and the plan was not changed since. */
  hasFailed: boolean
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
    changes: 0,
    results: [],
    open: undefined,
    last: undefined,
    planningTexts: [],
  }
  const request = messages.findLastIndex((message) => message.role === 'user' && !message.instruction)
  let calls = { made: 0, failed: 0 }
  for (const message of messages.slice(request + 1)) {
    if (message.role === 'user') {
      // A repair asks for the same answer again.
      position.open = position.last = message.instruction === 'repair' ? 'answer' : message.instruction
      calls = { made: 0, failed: 0 }
    } else if (message.role === 'tool') {
      calls.made++
      if (message.isError) calls.failed++
    } else if (message.toolCalls.length === 0) {
      close(position, message.text, calls.made > 0 && calls.failed === calls.made)
    }
  }
  return position
}

function close(position: PlanPosition, text: string, isWithoutResult: boolean): void {
  const { open } = position
  position.open = undefined
  if (open === 'plan') {
    position.plan = planFrom(text)
    position.planningTexts.push(toList(position.plan))
  } else if (open === 'change') {
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

/** Prompts for planning, and the parser of the model's plans: pure text. */

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

function parseList(text: string): unknown[] | undefined {
  const end = text.lastIndexOf(']')
  // Prose may hold brackets too: try a few start positions, never all.
  let start = text.indexOf('[')
  for (let tries = 0; start >= 0 && start < end && tries < maxTries; tries++, start = text.indexOf('[', start + 1)) {
    const list = parseJson(text.slice(start, end + 1)) ?? parseJson(text.slice(start, text.indexOf(']', start) + 1))
    if (list) return list
  }
  return undefined
}

const maxTries = 5

function parseJson(text: string): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    // `[1]` is a footnote in prose, not a plan.
    return Array.isArray(value) && value.every((item) => typeof item !== 'number') ? value : undefined
  } catch {
    return undefined
  }
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
