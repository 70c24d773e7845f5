import type { Principal } from '../../access/permissions.ts'
import { scopeOf } from '../../agent/options.ts'
import { type Tool } from '../../agent/tool.ts'
import type { CallOutcome } from '../../agent/events.ts'
import { runTool, toCallOutcome } from '../../agent/run-tool.ts'
import { settlesWithin } from '../../concurrency/settles-within.ts'
import type { Budgets } from '../../budgets/budgets.ts'
import type { Agent, CurrentAgent } from '../../configuration/agent.ts'
import { ServiceError } from '../../errors.ts'
import type { Bus } from '../../replicas/bus.ts'
import { serviceStopping } from '../log/outcome.ts'
import { isAudited, toEnded, toStarted } from '../execution/acts.ts'
import type { RunKey } from '../run.ts'
import type { RunActs } from '../run-store.ts'
import { runKeyText } from '../ownership/run-registry.ts'
import {
  toAnswer,
  type Executed,
  type ExecutionFiles,
  type ExecutionResult,
  type ExecutionStore,
  type StoredExecution,
  callIdOf,
  conversationOf,
  findTool,
  refuseOther,
  type ToolRequest,
} from './tool-execution.ts'
import { countCallers, createRemoteExecutions, type AwaitedExecution } from './remote-execution.ts'

export interface DirectExecutionDependencies {
  store: ExecutionStore
  agent: CurrentAgent
  budgets: Pick<Budgets, 'open'>
  /** Why nothing new is taken; undefined where new work is taken. */
  refuse(): ServiceError | undefined
  /** Called when a tool has ended, with its time in seconds. */
  onExecuted(tool: string, status: 'success' | 'error', seconds: number): void
  /** Id of the local process. */
  holder: string
  now(): number
  newId(): string
  files: ExecutionFiles
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  bus: Bus
}

/** Tools that are run outside of any conversation. */
export interface DirectExecution {
  execute(principal: Principal, request: ToolRequest, disconnected: AbortSignal): Promise<Executed>
  /** Measures work that callers know as a tool of this name. `isError`: of a result that is a failure. */
  measure<T>(tool: string, work: () => Promise<T>, isError: (result: T) => boolean): Promise<T>
  /** Takes nothing new, waits `ms` at most for the executions, then stops the rest. */
  drain(ms: number): Promise<void>
}

interface LiveExecution extends AwaitedExecution {
  sessionId: string
  bodyHash: string
  result: Promise<ExecutionResult>
  /** Aborted when the last caller has disconnected, or when the service stops. */
  stopping: AbortController
}

export function createDirectExecution(dependencies: DirectExecutionDependencies): DirectExecution {
  const { store, agent, refuse, holder, files, now, newId, sleep, bus } = dependencies
  const live = new Map<string, LiveExecution>()
  const remote = createRemoteExecutions({ bus, newId, sleep, find: (key) => live.get(runKeyText(key)) })
  let isStopping = false

  async function execute(principal: Principal, request: ToolRequest, disconnected: AbortSignal): Promise<Executed> {
    if (isStopping) throw serviceStopping()
    const current = agent()
    const release = current.hold()
    try {
      return await executeWith(current, principal, request, disconnected)
    } finally {
      release()
    }
  }

  async function executeWith(current: Agent, principal: Principal, request: ToolRequest, disconnected: AbortSignal): Promise<Executed> {
    await current.tools.settling()
    const tool = await findTool(current.tools, request)
    const key = { tenant: principal.tenant, owner: principal.owner, requestId: request.requestId }
    const answerOf = async (execution: LiveExecution) => toAnswer(principal, await outcomeOf(execution, disconnected), files)
    for (let earlier = live.get(runKeyText(key)); earlier; earlier = live.get(runKeyText(key))) {
      refuseOther(earlier, request)
      if (!earlier.stopping.signal.aborted) return answerOf(earlier)
      // All callers of the earlier execution have disconnected: wait until it has stopped, then look at what it stored.
      await earlier.result.catch(() => undefined)
      forget(key, earlier)
    }
    const refusal = refuse()
    if (refusal) throw refusal
    const execution = start(key, current, tool, request)
    live.set(runKeyText(key), execution)
    try {
      return await answerOf(execution)
    } finally {
      forget(key, execution)
      remote.ended(key)
    }
  }

  function start(key: RunKey, current: Agent, tool: Tool, request: ToolRequest): LiveExecution {
    const sessionId = request.sessionId ?? request.newSessionId
    const stopping = new AbortController()
    const callId = request.isRepeatable ? callIdOf(key) : newId()
    const call = () => callTool({ key, callId, agent: current, tool, request, sessionId, signal: stopping.signal }, dependencies)
    const isRecorded = tool.effect === 'write' && isAudited(current)
    const context = { key, agent: current, now, newId }
    const execution: LiveExecution = {
      sessionId,
      bodyHash: request.bodyHash,
      stopping,
      // A call that is in the ledger is stored: the ledger says what became of the call when the process dies.
      result: request.isRepeatable || isRecorded ? executeOnce() : call().then(({ result }) => result),
      ...countCallers(() => stopping.abort()),
    }
    return execution

    async function executeOnce(): Promise<ExecutionResult> {
      const { bodyHash } = request
      const started = { callId, tool: tool.name, input: request.input }
      const acts = isRecorded ? [toStarted(context, started)] : undefined
      const begun = await store.begin({ ...key, sessionId, bodyHash, holder, agent: current.config.name, now: now(), acts })
      const claim = await claimExecution(begun, execution, { key, tool, request, store, holder, remote, isStopping: () => isStopping })
      if (claim.kind === 'ended') return claim.result
      const { result, outcome } = await call()
      // The callers disconnected before the tool ended: a repeat finds no outcome, because the error is that of the abort.
      const isCutOff = stopping.signal.aborted && result.status === 'error'
      // The ledger has no open start where another process has found the execution lost.
      const ended: RunActs = (open) => open.map((started) => toEnded(context, started, outcome))
      await store.finish(key, claim.fence, { result: isCutOff ? undefined : result, now: now(), acts: acts && ended })
      return result
    }
  }

  function forget(key: RunKey, execution: LiveExecution): void {
    if (live.get(runKeyText(key)) === execution) live.delete(runKeyText(key))
  }

  async function drain(ms: number): Promise<void> {
    isStopping = true
    await settlesWithin(Promise.allSettled([...live.values()].map(({ result }) => result)), ms, sleep)
    for (const { stopping } of live.values()) stopping.abort()
  }

  async function measure<T>(tool: string, work: () => Promise<T>, isError: (result: T) => boolean): Promise<T> {
    const startedAt = now()
    let status: 'success' | 'error' = 'error'
    try {
      const result = await work()
      if (!isError(result)) status = 'success'
      return result
    } finally {
      dependencies.onExecuted(tool, status, (now() - startedAt) / 1000)
    }
  }

  return { execute, measure, drain }
}

interface Claiming extends Pick<DirectExecutionDependencies, 'store' | 'holder'>, Pick<ToolCall, 'key' | 'tool' | 'request'> {
  remote: ReturnType<typeof createRemoteExecutions>
  isStopping(): boolean
}

/** Waits for an earlier execution with the request id of a new one, and takes that over where its process stopped. */
async function claimExecution(
  earlier: StoredExecution | undefined,
  execution: LiveExecution,
  { key, tool, request, store, holder, remote, isStopping }: Claiming,
): Promise<Claim> {
  const { signal } = execution.stopping
  for (let stored = earlier; stored; stored = await store.find(key)) {
    refuseOther(stored, request)
    execution.sessionId = stored.sessionId
    const location = locationOf(stored, holder)
    switch (location.kind) {
      case 'ended':
        return location
      case 'remote':
        await remote.waitForEnd(key, signal)
        if (signal.aborted) throw isStopping() ? serviceStopping() : new ServiceError('cancelled', 'The caller has gone.')
        break
      case 'interrupted':
        // The process stopped inside of the tool. A tool that only reads is run again, a tool that writes never is.
        if (tool.effect === 'write') throw new ServiceError('process_lost', 'The outcome of this call is unknown; it was not repeated.')
        if (await store.takeOver(key, stored.fence, holder)) return { kind: 'claimed', fence: stored.fence + 1 }
    }
  }
  return { kind: 'claimed', fence: 1 }
}

interface ToolCall {
  key: RunKey
  callId: string
  agent: Agent
  tool: Tool
  request: ToolRequest
  sessionId: string
  signal: AbortSignal
}

async function callTool(
  { key, callId, agent, tool, request, sessionId, signal }: ToolCall,
  { files, budgets, now, onExecuted }: DirectExecutionDependencies,
): Promise<{ result: ExecutionResult; outcome: CallOutcome }> {
  const tools = agent.tools.list().flatMap((listing): Tool[] => (listing.tool ? [listing.tool] : []))
  const context = {
    callId,
    caller: { tenant: key.tenant, owner: key.owner },
    ...(agent.config.budgets && { meter: budgets.open({ tenant: key.tenant, owner: key.owner, operation: 'tool', fence: 0 }, agent) }),
    headers: request.headers,
    ...(request.traceparent !== undefined && { traceparent: request.traceparent }),
    session: conversationOf(key, sessionId),
    sessionId,
    contextFiles: [],
    latestOutput: () => undefined,
    ...scopeOf(tool, tools, request.filters),
  }
  const { folder, keep } = files.open()
  const outcome = await runTool(tool, request.input, {
    context,
    keepArtifact: keep,
    signal,
    onLog: request.onLog,
    onProgress: request.onProgress,
    now,
  })
  const status = outcome.isError ? 'error' : 'success'
  const seconds = outcome.durationMs / 1000
  onExecuted(tool.name, status, seconds)
  const { output, artifacts, returned } = outcome
  const keptFiles = artifacts.length > 0 ? { files: { folder, made: artifacts, ...(returned.length > 0 && { returned }) } } : {}
  return { result: { tool_name: tool.name, output, execution_time: seconds, status, ...keptFiles }, outcome: toCallOutcome(outcome) }
}

/** Who has a stored execution. `interrupted`: no process executes the tool any more, and there is no result. */
type ExecutionLocation = { kind: 'ended'; result: ExecutionResult } | { kind: 'remote' } | { kind: 'interrupted' }

/** What a process may do with an execution: run the tool under this fence, or answer with the earlier result. */
type Claim = Extract<ExecutionLocation, { kind: 'ended' }> | { kind: 'claimed'; fence: number }

function locationOf({ result, holder }: StoredExecution, ownHolder: string): ExecutionLocation {
  if (result) return { kind: 'ended', result }
  return { kind: holder !== undefined && holder !== ownHolder ? 'remote' : 'interrupted' }
}

/** The session is read after the result: a repeat learns its session from the stored execution. */
async function outcomeOf(execution: LiveExecution, disconnected: AbortSignal): Promise<{ sessionId: string; result: ExecutionResult }> {
  const leave = execution.enter()
  if (disconnected.aborted) leave()
  else disconnected.addEventListener('abort', leave, { once: true })
  const result = await execution.result
  return { sessionId: execution.sessionId, result }
}
