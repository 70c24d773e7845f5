import { ModelError, type Model, type ModelReply, type ModelRequest, type ModelSink } from '../../src/agent/model.ts'
import type { Tool } from '../../src/agent/tool.ts'
import { agentOf } from '../../src/runs/process-fixture.ts'
import { withRetry } from '../../src/models/retry.ts'
import type { Agent } from '../../src/configuration/agent.ts'
import type { Budget } from '../../src/configuration/budget-schema.ts'
import type { Plan, SimulatedBudget } from './plan.ts'

/** A point of the schedule at which the calling process waits; a process that dies meanwhile waits for ever. */
export type Point = (label: string) => Promise<void>

export interface AgentPorts {
  point: Point
  /** Waits in the simulated time. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Undefined where nothing is limited. */
  budget: Plan['budget']
  /** Called at the begin of a model call; true where the call breaks off. */
  beginModelCall(): boolean
  /** Called with the nano USD of a model call, at its end. */
  onCounted(nanoUsd: number): void
  /** Called with 1 at the start of a tool and with -1 at its end. */
  onTool(change: 1 | -1): void
  /** Called when the tool of a run changes something. */
  onWrite(requestId: string): void
}

/** The agent of one simulated process. The question decides what the model does: see `Question`. */
export function createSimulatedAgent(ports: AgentPorts): Agent {
  const { budget } = ports
  return {
    ...base,
    ...(budget && withBudget(budget)),
    model: withRetry([createModel(ports)], { sleep: ports.sleep, random: () => 0.5 }),
    tools: toolsOf([createWrite('write', ports), createWrite('approve', ports)]),
  }
}

const base = agentOf({ model: { name: 'simulated-1', seesImages: false, reply: unused }, config: { approvals: { expire_after: 60 } } })

function unused(): never {
  throw new Error('Each process has a model of its own.')
}

/** What callers may spend: so many nano USD in an hour, and whose runs so many tokens. */
export function budgetsOf({ nanoUsd, tokens, onExceeded }: SimulatedBudget): readonly Budget[] {
  return [
    {
      name: 'hour',
      scope: 'caller',
      window: 'hour',
      timezone: 'UTC',
      limit: { usd: nanoUsd / 1e9 },
      on_exceeded: onExceeded?.hour ?? 'stop',
    },
    { name: 'run', scope: 'run', timezone: 'UTC', limit: { tokens }, on_exceeded: onExceeded?.run ?? 'stop' },
  ]
}

function withBudget(budget: SimulatedBudget): Pick<Agent, 'config' | 'findPrices'> {
  const { price, reserved } = budget
  const limits = { ...base.config.limits, reserve_output_tokens: reserved }
  return {
    config: { ...base.config, budgets: [...budgetsOf(budget)], limits },
    findPrices: () => ({ rates: { input: 0, output: price / 1000 } }),
  }
}

function toolsOf(tools: readonly Tool[]): Agent['tools'] {
  return { ...base.tools, list: () => tools.map((tool) => ({ ...tool, status: 'ready' as const, schema: {}, tool })) }
}

/** Calls the tool that the question names, once, and answers in two pieces. Counts the cost of each call, also of interrupted calls. */
function createModel({ point, budget, beginModelCall, onCounted }: AgentPorts): Model {
  const count = (tokens: number) => onCounted(tokens * (budget?.price ?? 0))
  async function answer({ messages, options }: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelReply> {
    const start = messages.findLastIndex(({ role }) => role === 'user')
    const question = messages[start]
    const text = question?.role === 'user' ? question.text : ''
    const [kind = '', requestId = ''] = text.split(' ')
    const hasResult = messages.slice(start).some(({ role }) => role === 'tool')
    const isBroken = beginModelCall()
    await point(`model ${requestId}`)
    signal.throwIfAborted()
    const output = Math.ceil((options?.maxOutputTokens ?? 1) * (budget?.share ?? 1))
    const usage = { model: 'simulated-1', input: 1, output, cachedInput: 0, reasoning: 0 }
    if (kind !== 'plain' && !hasResult) {
      if (isBroken) throw brokenOff()
      const toolCalls = [{ name: kind, arguments: JSON.stringify({ requestId }) }]
      return { text: '', reasoning: '', toolCalls, finish: 'tool_calls', usage }
    }
    await sink({ type: 'text', text: 'answer ' })
    await point(`model ${requestId} goes on`)
    signal.throwIfAborted()
    if (isBroken) throw brokenOff()
    await sink({ type: 'text', text: requestId })
    return { text: `answer ${requestId}`, reasoning: '', toolCalls: [], finish: 'stop', usage }
  }

  return {
    name: 'simulated-1',
    seesImages: false,
    async reply(request, sink, signal) {
      let received = 0
      const counting: ModelSink = (event) => {
        if ('text' in event) received += event.text.length
        return sink(event)
      }
      try {
        const reply = await answer(request, counting, signal)
        count(reply.usage.output)
        return reply
      } catch (error) {
        count(Math.min(request.options?.maxOutputTokens ?? 0, Math.ceil(received / 2)))
        throw error
      }
    },
  }
}

function brokenOff(): ModelError {
  return new ModelError('unavailable', 'The connection broke.')
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
