import type { Step } from '../../agent/events.ts'
import { stepOpening } from '../../agent/plan.ts'
import { fieldsOf } from '../../json/shape.ts'
import type { LoggedEvent } from '../../runs/run.ts'

/** A step of a plan, as pages show it. */
export interface PlanStep {
  step: string
  status: 'pending' | 'running' | 'done' | 'failed'
}

/** What an event changed: the list of steps, the status of some, or nothing. */
export type PlanChange = 'steps' | 'status' | undefined

/** The plan of a run with `workflow_type: plan_execute` and its progress, read from the events of the run. Empty for a run without a plan. */
export class PlanProgress {
  /** Each change is a list of its own, so that a projection may keep the list of an earlier event. */
  steps: readonly PlanStep[] = []

  /** Index of the running step; -1 for none. */
  get running(): number {
    return this.steps.findIndex(({ status }) => status === 'running')
  }

  take(event: LoggedEvent): PlanChange {
    switch (event.type) {
      case 'text':
        return event.label === 'reasoning' ? undefined : event.label === 'answer' ? this.end('done') : this.open(event.text)
      case 'step_start':
        return isPlanning(event.step) && event.step.tool === 'change'
          ? this.end('message' in fieldsOf(event.step.input) ? 'done' : 'failed')
          : undefined
      case 'step_end':
        return isPlanning(event.step) ? this.replace(event.step) : undefined
      case 'end':
        return this.close(event.reason === 'stop')
      case 'retrying':
      case 'user_message':
      case 'interrupt':
        return undefined
    }
  }

  /** Opens the next step if the text is its opening, which ends the step before. */
  private open(text: string): PlanChange {
    const next = this.steps.findIndex(({ status }) => status === 'pending')
    const step = this.steps[next]
    if (!step || text !== stepOpening(next + 1, this.steps.length, step.step)) return undefined
    this.end('done')
    return this.set(next, 'running')
  }

  private end(status: 'done' | 'failed'): PlanChange {
    const { running } = this
    return running < 0 ? undefined : this.set(running, status)
  }

  /** A plan of one step is not opened: the answer is its result. */
  private close(isComplete: boolean): PlanChange {
    const [only, second] = this.steps
    if (isComplete && only?.status === 'pending' && !second) return this.set(0, 'done')
    return this.end(isComplete ? 'done' : 'failed')
  }

  private set(index: number, status: PlanStep['status']): PlanChange {
    this.steps = this.steps.with(index, { ...this.steps[index]!, status })
    return 'status'
  }

  /** A new plan, or new steps in place of those that were not begun. */
  private replace({ output }: Step): PlanChange {
    const texts = Array.isArray(output) ? output.map(String) : []
    const startedSteps = this.steps.filter(({ status }) => status !== 'pending')
    this.steps = [...startedSteps, ...texts.map((step): PlanStep => ({ step, status: 'pending' }))]
    return 'steps'
  }
}

/** A sub-agent may plan too; its plan is no plan of the run. */
function isPlanning({ type, subAgent }: Pick<Step, 'type' | 'subAgent'>): boolean {
  return type === 'planning' && subAgent === undefined
}
