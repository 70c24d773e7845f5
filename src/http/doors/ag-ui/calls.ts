import type { Step, StepStart } from '../../../agent/events.ts'
import type { JsonValue } from '../../../agent/messages.ts'
import { toEvent } from './event-text.ts'
import { SubAgents } from './sub-agents.ts'

/** The tool calls of a run. A call is started once and has one result, also over interruptions. */
export class Calls {
  private readonly subAgents = new SubAgents()
  private readonly started: Set<string>
  private readonly ended: Set<string>

  /** `started`, `answered`: ids of calls whose start, or whose result, the client has. */
  constructor({ started, answered }: { started: string[]; answered: string[] } = { started: [], answered: [] }) {
    this.started = new Set(started)
    this.ended = new Set(answered)
  }

  start(step: StepStart): string {
    const { id, tool, input, subAgent } = step
    return this.request(id, tool, input, subAgent) + this.subAgents.start(step)
  }

  end(step: Step): string {
    const { id: toolCallId, output, subAgent } = step
    const end = this.subAgents.end(step)
    if (this.ended.has(toolCallId)) return end
    this.ended.add(toolCallId)
    const content = typeof output === 'string' ? output : JSON.stringify(output)
    const attribution = this.subAgents.attributionOf(subAgent)
    return end + toEvent('TOOL_CALL_RESULT', { messageId: `result_${toolCallId}`, toolCallId, role: 'tool', content, ...attribution })
  }

  /** A call that is requested, and perhaps waits. */
  request(toolCallId: string, toolCallName: string, input: JsonValue, subAgent?: string): string {
    if (this.started.has(toolCallId)) return ''
    this.started.add(toolCallId)
    const attribution = this.subAgents.attributionOf(subAgent)
    return (
      toEvent('TOOL_CALL_START', { toolCallId, toolCallName, ...attribution }) +
      toEvent('TOOL_CALL_ARGS', { toolCallId, delta: JSON.stringify(input), ...attribution }) +
      toEvent('TOOL_CALL_END', { toolCallId, ...attribution })
    )
  }

  suspend(): string {
    return this.subAgents.suspend()
  }

  resume(): string {
    return this.subAgents.resume()
  }
}
