import { setTimeout as delay } from 'node:timers/promises'
import { toTool } from '../agent/run-tool.ts'
import type { Model } from '../agent/model.ts'
import type { Tool, ToolListing } from '../agent/tool.ts'
import { PhaseTimes } from '../concurrency/phase-times.ts'
import type { Agent } from '../configuration/agent.ts'
import { toAgentConfig } from '../configuration/parse.ts'
import { localBus, type Bus } from '../replicas/bus.ts'
import { createClientWaits } from './execution/client-waits.ts'
import type { RunPorts } from './execution/ports.ts'
import { MemoryRunStore } from './memory-run-store-fixture.ts'
import type { NewChat } from './new-chat.ts'
import type { RunKey } from './run.ts'
import type { NewRun } from './run-store.ts'
import { createRuns, type RunsDependencies } from './runs.ts'

export const ann = { tenant: 't', owner: 'agent-core ann' }

export function keyOf(requestId: string): RunKey {
  return { ...ann, requestId }
}

/** A chat of Ann. The request id equals the text unless `change` sets another id. */
export function chatOf(text: string, change: Partial<NewChat> = {}): NewChat {
  return {
    requestId: text,
    sessionId: 's',
    newSessionId: 'new',
    operation: 'chain',
    bodyHash: text,
    request: { messages: [{ role: 'user', content: text }], filters: [], headers: {} },
    onDisconnect: 'cancel',
    at: ['body'],
    times: new PhaseTimes(),
    ...change,
  }
}

let arrivals = 0

/** A new run for the store. */
export function newRun(requestId: string, change: Partial<NewRun> = {}): NewRun {
  return {
    ...keyOf(requestId),
    sessionId: 's',
    sessionKey: 'k',
    shortName: 'hello',
    operation: 'chain',
    bodyHash: requestId,
    request: { messages: [{ role: 'user', content: 'hello' }], filters: [], headers: {} },
    onDisconnect: 'cancel',
    holder: 'p1',
    queueOrder: ++arrivals,
    agent: 'agent',
    configVersion: '1',
    input: 'hello',
    now: 1,
    messages: [{ role: 'human', content: 'hello', createdAt: 1 }],
    ...change,
  }
}

export interface AgentOptions {
  model: Model
  tools?: readonly Tool[]
  /** Parts of agent.yaml. */
  config?: object
}

export function agentOf({ model, tools = [], config = {} }: AgentOptions): Agent {
  const listings = tools.map((tool): ToolListing => ({ ...tool, status: 'ready', schema: {}, tool }))
  return {
    version: '1',
    config: toAgentConfig(config),
    model,
    small: undefined,
    embedder: undefined,
    findPrices: () => undefined,
    tools: { list: () => listings, search: () => [], settling: () => undefined, close: async () => undefined },
    hold: () => () => undefined,
  }
}

/** Ports for the execution of runs, in memory. Ports without a use in these tests throw. */
export function portsOf(store: MemoryRunStore, onFault: RunPorts['onFault'] = rethrow): RunPorts {
  let ids = 0
  return {
    store,
    holder: 'p1',
    jobs: { wake: () => undefined },
    now: Date.now,
    newId: () => `id ${++ids}`,
    publicUrl: () => 'http://localhost:8080',
    attachments: { check: refuse, read: refuse },
    images: { fromBytes: refuse },
    readTool: refuse,
    clientTools: { faultOf: async () => undefined, create: (tools) => tools.map((tool) => toTool(tool, () => undefined)) },
    clientWaits: createClientWaits({ list: async () => [], yieldWait: async () => false, now: Date.now }),
    schemas: { faultOf: async () => undefined, faultsOf: async () => [] },
    keeper: () => refuse,
    recall: () => undefined,
    budgets: {
      open: refuse,
      look: refuse,
      refusalOf: refuse,
      reserveAhead: refuse,
      forget: refuse,
      modelsFor: (_, { small, embedder }) => ({ small, embedder }),
    },
    subAgents: {
      list: async () => [],
      listForRun: async () => [],
      find: refuse,
      create: refuse,
      terminate: refuse,
      statusOf: () => 'ready',
      workAs: refuse,
    },
    onFault,
  }
}

export interface ProcessOptions extends AgentOptions {
  store?: MemoryRunStore
  /** Id of the process. */
  holder?: string
  bus?: Bus
  change?: Partial<RunsDependencies>
}

/** The runs of one process. Several processes may share a store. */
export function createProcess({ store = new MemoryRunStore(), holder = 'p1', bus = localBus, change, ...options }: ProcessOptions) {
  const agent = agentOf(options)
  store.alive.add(holder)
  const runs = createRuns({
    ...portsOf(store),
    agent: () => agent,
    refusalOf: async () => undefined,
    admission: { refuseRun: () => undefined, refuseEvent: () => undefined },
    holder,
    bus,
    onEnd: () => undefined,
    sleep: (ms, signal) => delay(ms, undefined, { signal, ref: false }),
    ...change,
  })
  return { runs, store, agent, holder }
}

/** The disconnect signal of a client with a lasting connection. */
export const connected = new AbortController().signal

function refuse(): never {
  throw new Error('This port is not available in this test.')
}

function rethrow(_run: unknown, error: unknown): never {
  throw error instanceof Error ? error : new Error(String(error))
}
