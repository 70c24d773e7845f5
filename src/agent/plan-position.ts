import type { Instruction, Message } from './messages.ts'
import { parsePlan, saysFailed, toList } from './plan-text.ts'

export type PlanInstruction = Exclude<Instruction, 'repair'>

/** True for an instruction of a plan. */
export function isOfPlan(message: Message): boolean {
  return message.role === 'user' && message.instruction !== undefined && message.instruction !== 'repair'
}

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
