import type { Step, StepStart } from '../../agent/events.ts'
import type { LoggedEvent } from '../run.ts'
import { type Part } from './span.ts'

/** A step of the log: its start, and its end where the step has ended. */
export interface LoggedStep {
  /** Index of the start in the log. */
  at: number
  start: StepStart
  end?: Step
}

/** The steps of a log by id, in the order of their starts. */
export function stepsIn(events: readonly LoggedEvent[]): Map<string, LoggedStep> {
  const steps = new Map<string, LoggedStep>()
  for (const [at, event] of events.entries()) {
    if (event.type === 'step_start' && !steps.has(event.step.id)) steps.set(event.step.id, { at, start: event.step })
    if (event.type !== 'step_end') continue
    const step = steps.get(event.step.id) ?? { at, start: event.step }
    steps.set(event.step.id, { ...step, end: event.step })
  }
  return steps
}

interface StepOptions {
  parent: string
  /** The end of the run, if the run has ended: an unended step was cancelled. */
  endedAt: number | undefined
  /** True where the step waits for the approval of a call inside of it. */
  isWaiting: boolean
  /** True where the step was stopped with its run. */
  isCutOff: boolean
  /** False for logs without the effects of tools. */
  hasEffect: boolean
}

/** The span of a tool call, of a sub-agent's call, or of the making of a plan. */
export function toStepPart({ start, end }: LoggedStep, { parent, endedAt, isWaiting, isCutOff, hasEffect }: StepOptions): Part {
  const { id, type, tool, input, startedAt, subAgent, effect } = start
  const isPlan = type === 'planning'
  const artifacts = end?.artifacts?.map(({ id: artifact_id, name: file_name }) => ({ artifact_id, file_name }))
  return {
    id,
    parent,
    kind: isPlan ? 'plan' : type === 'sub_agent_call' ? 'sub_agent' : 'tool',
    name: isPlan ? planNames[tool === 'change' ? 'change' : 'plan'] : tool,
    status: isCutOff ? 'cancelled' : (end?.status ?? (endedAt !== undefined ? 'cancelled' : isWaiting ? 'waiting' : 'running')),
    started: startedAt,
    ended: end ? startedAt + end.durationMs : endedAt,
    attributes: {
      tool: isPlan ? undefined : tool,
      tool_input: input,
      output: end?.output,
      effect: isPlan ? undefined : hasEffect ? (effect ?? 'read') : null,
      log: end?.log,
      sub_agent: subAgent,
      artifacts,
    },
  }
}

const planNames = { plan: 'Plan', change: 'Change of the plan' }
