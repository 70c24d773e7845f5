import { isObject } from '../../../json/shape.ts'
import type { LoggedEvent } from '../../../runs/run.ts'
import { PlanProgress } from '../plan-progress.ts'
import { toEvent } from './event-text.ts'

/** The plan of a run as the field `plan` of the page's state; its running step is a step of the run. No events for a run without a plan. */
export class PlanEvents {
  private readonly plan = new PlanProgress()
  private readonly state: object
  /** The step that the client knows to be running. */
  private stepName: string | undefined

  constructor(state: unknown) {
    this.state = isObject(state) ? state : {}
  }

  take(event: LoggedEvent): string {
    const change = this.plan.take(event)
    if (change === undefined) return ''
    const update = { op: 'replace', path: '/plan', value: this.plan.steps } as const
    return (change === 'steps' ? this.snapshot() : toEvent('STATE_DELTA', { delta: [update] })) + this.toStep()
  }

  /** The plan so far, for a client that resumes the run. */
  begin(): string {
    this.stepName = undefined
    return this.plan.steps.length === 0 ? '' : this.snapshot() + this.toStep()
  }

  /** Ends the running step: a run must not finish before its steps. */
  end(): string {
    const finished = this.stepName === undefined ? '' : toEvent('STEP_FINISHED', { stepName: this.stepName })
    this.stepName = undefined
    return finished
  }

  private snapshot(): string {
    return toEvent('STATE_SNAPSHOT', { snapshot: { ...this.state, plan: this.plan.steps } })
  }

  private toStep(): string {
    const { running, steps } = this.plan
    const next = running < 0 ? undefined : `${running + 1}. ${steps[running]!.step}`
    if (next === this.stepName) return ''
    const finished = this.end()
    this.stepName = next
    return finished + (next === undefined ? '' : toEvent('STEP_STARTED', { stepName: next }))
  }
}
