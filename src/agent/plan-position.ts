import type { Instruction, Message } from './messages.ts'
import { parsePlan, saysFailed, toList } from './plan-text.ts'

/** Where a run with a plan stands: read from its transcript alone, so that it can go on from wherever it was left. */
export interface Position {
  /** The steps that are done and those that are to be done; undefined before there is a plan. */
  plan: string[] | undefined
  /** Steps of the plan that have ended. */
  ended: number
  /** The last step failed, and nothing was done about it yet. */
  hasFailed: boolean
  /** How often the plan was changed. */
  changes: number
  /** What the steps that succeeded gave. */
  results: string[]
  /** What the model was told to do, and has not finished. */
  open: Instruction | undefined
  /** The last thing that it was told to do. */
  last: Instruction | undefined
  /** What people read of it: plans, and steps with their results. */
  told: string[]
}

/** The place behind the transcript's last message. The request is the last message of a person. */
export function positionIn(messages: readonly Message[]): Position {
  const position: Position = {
    ...{ plan: undefined, ended: 0, hasFailed: false, changes: 0, results: [], open: undefined, last: undefined, told: [] },
  }
  const request = messages.findLastIndex((message) => message.role === 'user' && !message.instruction)
  let calls = { made: 0, failed: 0 }
  for (const message of messages.slice(request + 1)) {
    if (message.role === 'user') {
      position.open = position.last = message.instruction
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

function close(position: Position, text: string, isWithoutResult: boolean): void {
  const { open } = position
  position.open = undefined
  if (open === 'plan') {
    position.plan = planFrom(text)
    position.told.push(toList(position.plan))
  } else if (open === 'change') {
    const rest = parsePlan(text) ?? []
    position.plan = [...(position.plan ?? []).slice(0, position.ended), ...rest]
    position.changes++
    position.hasFailed = false
    position.told.push(toList(rest))
  } else if (open === 'step') {
    const step = position.plan?.[position.ended++] ?? ''
    position.hasFailed = saysFailed(text) || isWithoutResult
    if (!position.hasFailed) position.results.push(text)
    position.told.push(`${step}\n${text}`)
  }
}

/** A model that can't plan does the request in one step. */
export function planFrom(text: string): string[] {
  const steps = parsePlan(text) ?? []
  return steps.length > 0 ? steps : ['Do what was asked.']
}

/** What people read of a run's planning; empty where it had no plan. */
export function planningOf(messages: readonly Message[]): string[] {
  return positionIn(messages).told.filter((text) => text.trim() !== '')
}
