import type { Step, StepStart } from '../../../agent/events.ts'
import type { JsonValue } from '../../../agent/messages.ts'
import { toEvent } from './event-text.ts'

/** The field that attributes an event to a sub-agent. */
interface Attribution {
  subagentRunId?: string
}

/** The sub-agents that a run has asked. Each task is an invocation, whose id is the id of its call. */
export class SubAgents {
  /** Names of the sub-agents at work by the id of their call. */
  private readonly working = new Map<string, string>()

  start({ id, type, tool }: StepStart): string {
    if (type !== 'sub_agent_call' || this.working.has(id)) return ''
    const name = tool.replace(/^sub_agent:/, '')
    this.working.set(id, name)
    return toEvent('SUBAGENT_STARTED', { subagentRunId: id, name, parentToolCallId: id })
  }

  end({ id: subagentRunId, status, output }: Step): string {
    if (!this.working.delete(subagentRunId)) return ''
    if (status === 'success') return toEvent('SUBAGENT_FINISHED', { subagentRunId, outcome: { type: 'success' } })
    return toEvent('SUBAGENT_ERROR', { subagentRunId, message: toErrorText(output) })
  }

  /** Ends the part of the invocations in a run that waits: its next part begins with `resume`. */
  suspend(): string {
    return [...this.working.keys()]
      .map((subagentRunId) => toEvent('SUBAGENT_FINISHED', { subagentRunId, outcome: { type: 'suspended' } }))
      .join('')
  }

  resume(): string {
    return [...this.working]
      .map(([subagentRunId, name]) => toEvent('SUBAGENT_STARTED', { subagentRunId, name, parentToolCallId: subagentRunId }))
      .join('')
  }

  /** Empty where several tasks of the sub-agent run at a time: a step has the name of its sub-agent alone. */
  attributionOf(subAgent: string | undefined): Attribution {
    const [id, other] = [...this.working].filter(([, name]) => name === subAgent).map(([id]) => id)
    return id === undefined || other !== undefined ? {} : { subagentRunId: id }
  }
}

function toErrorText(output: JsonValue): string {
  return typeof output === 'string' ? output : JSON.stringify(output)
}
