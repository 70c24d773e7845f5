import type { AGUIEvent } from '@ag-ui/core'
import type { Step, StepStart } from '../../../agent/events.ts'
import type { JsonValue } from '../../../agent/messages.ts'
import { isObject } from '../../../json/shape.ts'
import type { LoggedEvent } from '../../../runs/run.ts'
import { PlanProgress } from '../plan-progress.ts'

/** The fields of each event by its name. */
type Events = { [E in AGUIEvent as `${E['type']}`]: Omit<E, 'type'> }

/** An event of AG-UI, with further fields that depend on the type. */
export interface AgUiEvent {
  type: keyof Events
}

export function toEvent<N extends keyof Events>(type: N, fields: Events[N]): AgUiEvent {
  return { type, ...fields }
}

/** The tool calls of a run. A call is started once and has one result, also over interruptions. */
export class Calls {
  private readonly subAgents = new SubAgents()
  private readonly started: Set<string>
  private readonly ended: Set<string>

  /** `started`, `answered`: ids of calls whose start, or whose result, the client has. */
  constructor({ started, answered }: { started: string[]; answered: string[] }) {
    this.started = new Set(started)
    this.ended = new Set(answered)
  }

  start(step: StepStart): AgUiEvent[] {
    const { id, tool, input, subAgent } = step
    return [...this.request(id, tool, input, subAgent), ...this.subAgents.start(step)]
  }

  end(step: Step): AgUiEvent[] {
    const { id: toolCallId, output, subAgent } = step
    const end = this.subAgents.end(step)
    if (this.ended.has(toolCallId)) return end
    this.ended.add(toolCallId)
    const attribution = this.subAgents.attributionOf(subAgent)
    const result = { messageId: `result_${toolCallId}`, toolCallId, role: 'tool' as const, content: textOf(output), ...attribution }
    return [...end, toEvent('TOOL_CALL_RESULT', result)]
  }

  /** A call that is requested, and perhaps waits. */
  request(toolCallId: string, toolCallName: string, input: JsonValue, subAgent?: string): AgUiEvent[] {
    if (this.started.has(toolCallId)) return []
    this.started.add(toolCallId)
    const attribution = this.subAgents.attributionOf(subAgent)
    return [
      toEvent('TOOL_CALL_START', { toolCallId, toolCallName, ...attribution }),
      toEvent('TOOL_CALL_ARGS', { toolCallId, delta: JSON.stringify(input), ...attribution }),
      toEvent('TOOL_CALL_END', { toolCallId, ...attribution }),
    ]
  }

  /** Ends the part of the sub-agents in a run that waits: its next part begins with `resume`. */
  suspend(): AgUiEvent[] {
    return this.subAgents.suspend()
  }

  resume(): AgUiEvent[] {
    return this.subAgents.resume()
  }
}

/** The sub-agents that a run has asked. Each task is an invocation, whose id is the id of its call. */
class SubAgents {
  /** Names of the sub-agents at work by the id of their call. */
  private readonly working = new Map<string, string>()

  start({ id, type, tool }: StepStart): AgUiEvent[] {
    if (type !== 'sub_agent_call' || this.working.has(id)) return []
    const name = tool.replace(/^sub_agent:/, '')
    this.working.set(id, name)
    return [toStarted(id, name)]
  }

  end({ id: subagentRunId, status, output }: Step): AgUiEvent[] {
    if (!this.working.delete(subagentRunId)) return []
    if (status === 'success') return [toEvent('SUBAGENT_FINISHED', { subagentRunId, outcome: { type: 'success' } })]
    return [toEvent('SUBAGENT_ERROR', { subagentRunId, message: textOf(output) })]
  }

  suspend(): AgUiEvent[] {
    return [...this.working.keys()].map((subagentRunId) => toEvent('SUBAGENT_FINISHED', { subagentRunId, outcome: { type: 'suspended' } }))
  }

  resume(): AgUiEvent[] {
    return [...this.working].map(([id, name]) => toStarted(id, name))
  }

  /** The field that attributes an event to a sub-agent. Empty where several of its tasks run at a time: a step has the name of its sub-agent alone. */
  attributionOf(subAgent: string | undefined): { subagentRunId?: string } {
    const [id, other] = [...this.working].filter(([, name]) => name === subAgent).map(([id]) => id)
    return id === undefined || other !== undefined ? {} : { subagentRunId: id }
  }
}

function toStarted(id: string, name: string): AgUiEvent {
  return toEvent('SUBAGENT_STARTED', { subagentRunId: id, name, parentToolCallId: id })
}

function textOf(output: JsonValue): string {
  return typeof output === 'string' ? output : JSON.stringify(output)
}

/** The plan of a run as the field `plan` of the page's state; its running step is a step of the run. No events for a run without a plan. */
export class PlanEvents {
  private readonly plan = new PlanProgress()
  private readonly state: object
  /** The step that the client knows to be running. */
  private stepName: string | undefined

  constructor(state: unknown) {
    this.state = isObject(state) ? state : {}
  }

  take(event: LoggedEvent): AgUiEvent[] {
    const change = this.plan.take(event)
    if (change === undefined) return []
    const update = { op: 'replace', path: '/plan', value: this.plan.steps } as const
    return [change === 'steps' ? this.snapshot() : toEvent('STATE_DELTA', { delta: [update] }), ...this.toStep()]
  }

  /** The plan so far, for a client that resumes the run. */
  begin(): AgUiEvent[] {
    this.stepName = undefined
    return this.plan.steps.length === 0 ? [] : [this.snapshot(), ...this.toStep()]
  }

  /** Ends the running step: a run must not finish before its steps. */
  end(): AgUiEvent[] {
    const { stepName } = this
    this.stepName = undefined
    return stepName === undefined ? [] : [toEvent('STEP_FINISHED', { stepName })]
  }

  private snapshot(): AgUiEvent {
    return toEvent('STATE_SNAPSHOT', { snapshot: { ...this.state, plan: this.plan.steps } })
  }

  private toStep(): AgUiEvent[] {
    const { running, steps } = this.plan
    const next = running < 0 ? undefined : `${running + 1}. ${steps[running]!.step}`
    if (next === this.stepName) return []
    const finished = this.end()
    this.stepName = next
    return next === undefined ? finished : [...finished, toEvent('STEP_STARTED', { stepName: next })]
  }
}
