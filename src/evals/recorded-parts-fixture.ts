import { setTimeout as delay } from 'node:timers/promises'
import type { JsonObject, JsonValue } from '../agent/messages.ts'
import type { Model, ModelEvent, ModelReply, ModelRequest, ModelSink, RequestedCall } from '../agent/model.ts'
import { fakeTool } from '../agent/react-fixture.ts'
import type { Tool, ToolContext } from '../agent/tool.ts'
import type { SubAgent } from '../sub-agents/sub-agent-store.ts'

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Counts the calls of the tools: what would reach the systems behind them. */
export class Receiver {
  readonly calls: { tool: string; input: JsonObject }[] = []
  onCall: (() => Promise<void>) | undefined

  async took(tool: string, input: JsonObject): Promise<void> {
    this.calls.push({ tool, input })
    await this.onCall?.()
  }
}

/** Which agent asks, and how often the model has answered it. */
function askedOf({ system, messages }: ModelRequest): { who: string; turn: number } {
  const [, who = 'agent'] = /You are the sub-agent "([^"]+)"/.exec(system) ?? []
  return { who, turn: messages.filter(({ role }) => role === 'assistant').length }
}

/** A model that answers by a function of the request, in its time. */
export class FunctionModel implements Model {
  readonly name = 'function-1'
  readonly seesImages: boolean
  calls = 0
  readonly answer: (request: ModelRequest) => { events: ModelEvent[]; calls?: RequestedCall[]; waitMs?: number }

  constructor(answer: FunctionModel['answer'], { seesImages = false } = {}) {
    this.answer = answer
    this.seesImages = seesImages
  }

  async reply(request: ModelRequest, sink: ModelSink, signal: AbortSignal): Promise<ModelReply> {
    this.calls++
    const paid = await request.meter?.hold(this, request)
    const { events, calls = [], waitMs } = this.answer(request)
    for (const event of events) {
      await sink(event)
      if (waitMs) await delay(waitMs, undefined, { signal })
    }
    const from = events.findLastIndex(({ type }) => type === 'retrying') + 1
    const textOf = (kind: string) =>
      events
        .slice(from)
        .map((event) => (event.type === kind && 'text' in event ? event.text : ''))
        .join('')
    const usage = { model: 'function-1', input: 10 + events.length, output: 5, cachedInput: 0, reasoning: 0 }
    const finish = calls.length > 0 ? ('tool_calls' as const) : ('stop' as const)
    const reply = { text: textOf('text'), reasoning: textOf('reasoning'), toolCalls: calls, finish, usage }
    paid?.end({ reply }, 0)
    return reply
  }
}

/** Tools with every kind of outcome. Each call reaches the receiver, and takes its time. */
export function toolsOf(receiver: Receiver, random: () => number): Tool[] {
  let calls = 0
  const tool = (
    name: string,
    output: (input: JsonObject, context: ToolContext) => JsonValue | Promise<JsonValue>,
    traits: Partial<Tool> = {},
  ) =>
    fakeTool(name, {
      ...traits,
      async execute(input, context) {
        await receiver.took(name, input)
        await delay(Math.floor(random() * 4))
        return output(input, context)
      },
    })
  return [
    tool('look', ({ n }) => ({ seen: n ?? null, at: ++calls })),
    tool('nothing', () => null),
    tool('broken', () => Promise.reject(new Error(`It failed\nfor the ${++calls}. time.`))),
    tool('draw', async (_input, { artifact, log }) => {
      log('Drawing.')
      await artifact(`picture-${++calls}.png`, 'image/png', new Uint8Array([calls]), { isReturned: true })
      return 'drawn'
    }),
    tool('peek', ({ n }) => `peeked at ${JSON.stringify(n)}`, { approval: { by: 'caller' } }),
    tool('refund', ({ n }) => ({ refunded: n ?? null, receipt: ++calls }), { effect: 'write' }),
    tool('send', () => `sent ${++calls}`, { effect: 'write', approval: { by: 'role' } }),
    tool('strict', () => 'fits', { check: ({ n }: any) => (typeof n === 'number' ? undefined : 'n must be a number') }),
  ]
}

/** A sub-agent with these tools. */
export const subAgentOf = (name: string, tools: readonly Tool[], workflowType: SubAgent['workflowType']): SubAgent => ({
  id: name,
  name,
  description: `Does ${name}.`,
  objective: '',
  tools: tools.map((tool) => tool.name),
  workflowType,
  madeBy: 'caller',
  hasFailed: false,
  isBusy: false,
  createdAt: 0,
  lastActive: 0,
})

/** A model whose replies depend on the seed, the agent and the turn alone. */
export function randomModel(seed: number, { earlier = 0, seesImages = false } = {}): FunctionModel {
  const answer = (request: ModelRequest): ReturnType<FunctionModel['answer']> => {
    const { who, turn: turns } = askedOf(request)
    const turn = who === 'agent' ? turns - earlier : turns
    const last = request.messages.at(-1)!
    const random = randomOf(seed * 1000 + turn * 10 + who.charCodeAt(0))
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
    if (last.role === 'user' && (last.instruction === 'plan' || last.instruction === 'change'))
      return { events: [{ type: 'text', text: '["Look. ", "Say so."]' }] }
    const events: ModelEvent[] = []
    if (random() < 0.3) events.push({ type: 'reasoning', text: `Thought ${turn} of ${who}.` })
    if (random() < 0.15) events.push({ type: 'text', text: 'Broken' }, { type: 'retrying' })
    if (request.responseSchema)
      events.push({ type: 'text', text: random() < 0.5 ? '```json\n{"n": 1}\n```' : random() < 0.5 ? '{"n": 1}' : 'no' })
    else
      for (let pieces = Math.floor(random() * 3); pieces >= 0; pieces--) events.push({ type: 'text', text: `Piece ${pieces} of ${who}. ` })
    const names = ['look', 'look', 'nothing', 'broken', 'draw', 'peek', 'refund', 'refund', 'send', 'strict', 'unknown']
    if (who === 'agent') names.push('sub_agent_a', 'sub_agent_a', 'sub_agent_b')
    if (who === 'a') names.push('sub_agent_b')
    const isOver = turn > 2 || request.tools.length === 0
    const calls = Array.from({ length: isOver ? 0 : Math.floor(random() * 5) }, (): RequestedCall => {
      const name = pick(names)
      const input = name.startsWith('sub_agent')
        ? { task: pick(['x', 'y']) }
        : pick([{ n: 1 }, { n: 2, b: [1, { c: null }] }, { b: 1, n: 'a' }, {}])
      const text = random() < 0.05 ? '{"n": ' : JSON.stringify(input, undefined, random() < 0.3 ? 1 : 0)
      return { name, arguments: text }
    })
    return { events, calls, waitMs: random() < 0.4 ? 1 : 0 }
  }
  return new FunctionModel(answer, { seesImages })
}
