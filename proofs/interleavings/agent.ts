import type { Model, ModelReply, ModelRequest, ModelSink } from '../../src/agent/model.ts'
import type { Tool } from '../../src/agent/tool.ts'
import { agentOf } from '../../src/runs/process-fixture.ts'
import type { Agent } from '../../src/configuration/agent.ts'

/** A point of the schedule at which the calling process waits; a process that dies meanwhile waits for ever. */
export type Point = (label: string) => Promise<void>

export interface AgentPorts {
  point: Point
  /** Called with 1 at the start of a tool and with -1 at its end. */
  onTool(change: 1 | -1): void
  /** Called when the tool of a run changes something. */
  onWrite(requestId: string): void
}

/** The agent of one simulated process. The question decides what the model does: see `Question`. */
export function createSimulatedAgent(ports: AgentPorts): Agent {
  return { ...base, model: createModel(ports), tools: toolsOf([createWrite('write', ports), createWrite('approve', ports)]) }
}

const base = agentOf({ model: createModel({ point: async () => undefined }), config: { approvals: { expire_after: 60 } } })

function toolsOf(tools: readonly Tool[]): Agent['tools'] {
  return { ...base.tools, list: () => tools.map((tool) => ({ ...tool, status: 'ready' as const, schema: {}, tool })) }
}

/** Calls the tool that the question names, once, and answers in two pieces. */
function createModel({ point }: Pick<AgentPorts, 'point'>): Model {
  return {
    name: 'simulated-1',
    seesImages: false,
    async reply({ messages }: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelReply> {
      const start = messages.findLastIndex(({ role }) => role === 'user')
      const question = messages[start]
      const text = question?.role === 'user' ? question.text : ''
      const [kind = '', requestId = ''] = text.split(' ')
      const hasResult = messages.slice(start).some(({ role }) => role === 'tool')
      await point(`model ${requestId}`)
      signal.throwIfAborted()
      const usage = { model: 'simulated-1', input: 1, output: 1, cachedInput: 0, reasoning: 0 }
      if (kind !== 'plain' && !hasResult) {
        const toolCalls = [{ name: kind, arguments: JSON.stringify({ requestId }) }]
        return { text: '', reasoning: '', toolCalls, finish: 'tool_calls', usage }
      }
      await sink({ type: 'text', text: 'answer ' })
      await point(`model ${requestId} goes on`)
      signal.throwIfAborted()
      await sink({ type: 'text', text: requestId })
      return { text: `answer ${requestId}`, reasoning: '', toolCalls: [], finish: 'stop', usage }
    },
  }
}

function createWrite(name: 'write' | 'approve', { point, onTool, onWrite }: AgentPorts): Tool {
  return {
    name,
    description: 'Changes something.',
    schema: { type: 'object' },
    effect: 'write',
    filters: false,
    timeoutMs: 60_000,
    maxOutputCharacters: 1000,
    ...(name === 'approve' ? { approval: { by: 'caller' as const } } : {}),
    check: () => undefined,
    async execute({ requestId }) {
      onTool(1)
      await point(`tool ${String(requestId)}`)
      onWrite(String(requestId))
      await point(`tool ${String(requestId)} answers`)
      onTool(-1)
      return 'done'
    },
  }
}
