import {
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
  type InputRequiredResult,
  type Result,
  type Task,
} from '@modelcontextprotocol/server'
import type { PendingCall } from '../../../agent/approval.ts'
import { ServiceError } from '../../../errors.ts'
import { toWaitingText } from '../../../runs/approvals/approval-view.ts'
import { answerCalls } from '../../../runs/parts.ts'
import { noFilters, type ListedRunView, type ListRuns } from '../../../runs/run-list.ts'
import type { StoredRun } from '../../../runs/run-store.ts'
import { toRunView } from '../../../runs/run-view.ts'
import { isReadable, type RunStatus } from '../../../runs/run.ts'
import { isId } from '../../server/request-headers.ts'
import { answer, canDecide, readAnswer, toChat, toInputRequests, type AskServices } from './ask.ts'
import { followRun, keyOf, relatedTask, type McpCall, tasksExtension, type Era } from './call.ts'
import { decisionsIn } from './forms.ts'

/**
 * Tasks of MCP: runs that go on without their client. Nothing else is stored, so that tasks survive a restart and every process knows them.
 * Legacy is the utility of revision 2025-11-25, modern the extension of revision 2026-07-28 (SEP-2663).
 */
export interface TaskServices extends AskServices {
  listRuns: ListRuns
}

type Params = Readonly<Record<string, unknown>>
export type TaskMethod = (services: TaskServices, call: McpCall, params: Params) => Promise<Result>

/** Accepts a question as an asynchronous run, and returns its task. */
export async function createTask(services: TaskServices, call: McpCall, input: Record<string, unknown>): Promise<Result> {
  const { principal, request } = call.caller
  const event = { source: 'mcp', id: request.id, callbackUrl: undefined }
  const { requestId } = await services.runs.accept(principal, event, () => toChat(services, call, input, 'chain_async'))
  const state = await stateOf(services, call, await find(services, call, requestId))
  return call.client.era === 'legacy' ? { task: toLegacyTask(state) } : { resultType: 'task', ...toModernTask(state) }
}

export const legacyTaskMethods: Readonly<Record<string, TaskMethod>> = {
  async 'tasks/get'(services, call, params) {
    return { ...toLegacyTask(await stateOf(services, call, await find(services, call, params['taskId']))) }
  },

  /** Answers when the task has ended. Until then, the client gets the forms of calls that wait for its user. */
  async 'tasks/result'(services, call, params) {
    const { requestId } = await find(services, call, params['taskId'])
    const run = await followRun(services, call, requestId)
    const result: CallToolResult | InputRequiredResult = await answer(services, { ...call, isTask: true }, { run, after: 0 })
    return { ...result, _meta: relatedTask(requestId) }
  },

  async 'tasks/list'(services, call, { cursor }) {
    const before = typeof cursor === 'string' ? cursor : undefined
    const { runs, offset, has_more } = await services.listRuns(call.caller.principal, {
      ...noFilters,
      operation: 'chain_async',
      ownOnly: true,
      limit: pageSize,
      before,
    })
    const tasks = runs.map((run) => toListedTask(run, ttlOf(services)))
    return { tasks, ...(has_more && { nextCursor: offset }) }
  },

  async 'tasks/cancel'(services, call, params) {
    const run = await find(services, call, params['taskId'])
    await services.runs.cancel(keyOf(call.caller, run.requestId))
    return { ...toLegacyTask(await stateOf(services, call, await find(services, call, run.requestId))) }
  },
}

export const modernTaskMethods: Readonly<Record<string, TaskMethod>> = {
  async 'tasks/get'(services, call, params) {
    requireExtension(call)
    const run = await find(services, call, params['taskId'])
    const state = await stateOf(services, call, run)
    const task = toModernTask(state)
    if (state.status === 'input_required') return { ...task, inputRequests: toInputRequests(await services.openCalls.openOf(run)) }
    if (state.status !== 'completed') return task
    const ended = await followRun(services, call, run.requestId)
    const result = await readAnswer(services, call, ended)
    return { ...task, result: { resultType: 'complete', ...result } }
  },

  async 'tasks/update'(services, call, params) {
    requireExtension(call)
    const run = await find(services, call, params['taskId'])
    // The library takes `inputResponses` out of the parameters of every method.
    const answers = call.context.mcpReq.inputResponses ?? {}
    const { principal } = call.caller
    if (run.status === 'interrupted') await answerCalls(services, { principal, run, toDecisions: decisionsIn(answers) })
    return {}
  },

  /** Also acknowledges the cancellation of a task that has ended. */
  async 'tasks/cancel'(services, call, params) {
    requireExtension(call)
    const { requestId } = await find(services, call, params['taskId'])
    await services.runs.cancel(keyOf(call.caller, requestId)).catch((error: unknown) => {
      if (!(error instanceof ServiceError && error.code === 'run_ended')) throw error
    })
    return {}
  },
}

async function stateOf(services: TaskServices, call: McpCall, run: StoredRun) {
  const calls = run.status === 'interrupted' ? await services.openCalls.openOf(run) : []
  const waiting = { calls, isForClient: canDecide(call, calls) }
  return toTaskState(run, { era: call.client.era, ttlMs: ttlOf(services), waiting })
}

async function find({ runStore }: TaskServices, { caller }: McpCall, taskId: unknown): Promise<StoredRun> {
  const run = isId(taskId) ? await runStore.find(keyOf(caller, taskId)) : undefined
  if (!run || !isReadable(run))
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no task ${String(taskId).slice(0, 200)}.`)
  return run
}

function requireExtension({ client }: McpCall): void {
  if (!client.takesTasks) {
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [tasksExtension]: {} } } })
  }
}

/** Ended runs are kept for `retention.runs` days. */
function ttlOf({ agent }: TaskServices): number | null {
  const days = agent().config.retention.runs
  return days === 0 ? null : days * 86_400_000
}

const pageSize = 45

/** The state of a task; each revision has its own names for the times. A task is a run with the request id as its id. */
export interface TaskState {
  taskId: string
  status: Task['status']
  statusMessage?: string
  createdAt: string
  lastUpdatedAt: string
  /** Milliseconds for which the task exists after its creation, at least; null without an end. */
  ttlMs: number | null
}

/** Interval in which clients should ask for the state. */
const pollMs = 1000

const legacyStates: Record<RunStatus, Task['status']> = {
  pending: 'working',
  running: 'working',
  interrupted: 'input_required',
  success: 'completed',
  error: 'failed',
  timeout: 'failed',
  cancelled: 'cancelled',
}

/** Revision 2026-07-28: an error of a tool is a result, so that its task is completed; only errors of the protocol fail. */
const statesOfEra: Record<Era, typeof legacyStates> = {
  legacy: legacyStates,
  modern: { ...legacyStates, error: 'completed', timeout: 'completed' },
}

interface ViewOptions {
  era: Era
  ttlMs: number | null
  /** Undecided calls of the run, and whether the client can decide them. */
  waiting: { calls: readonly PendingCall[]; isForClient: boolean }
}

export function toTaskState(run: StoredRun, { era, ttlMs, waiting }: ViewOptions): TaskState {
  const { created_at, started_at, ended_at, status, error } = toRunView(run)
  const message = status === 'interrupted' ? toWaitingText(run.requestId, waiting.calls) : error?.body
  return {
    taskId: run.requestId,
    // A task that waits for somebody else is at work as far as its client is concerned.
    status: status === 'interrupted' && !waiting.isForClient ? 'working' : statesOfEra[era][status],
    ...(message !== undefined && { statusMessage: message }),
    createdAt: created_at,
    lastUpdatedAt: ended_at ?? started_at ?? created_at,
    ttlMs,
  }
}

/** The state of a listed run, for legacy clients: revision 2026-07-28 has no list of tasks. */
export function toListedTask(run: ListedRunView, ttlMs: number | null): Task {
  const { request_id, status, created_at, started_at, ended_at } = run
  return toLegacyTask({
    taskId: request_id,
    status: legacyStates[status],
    createdAt: created_at,
    lastUpdatedAt: ended_at ?? started_at ?? created_at,
    ttlMs,
  })
}

export function toLegacyTask({ ttlMs, ...task }: TaskState): Task {
  return { ...task, ttl: ttlMs, pollInterval: pollMs }
}

export function toModernTask(task: TaskState) {
  return { ...task, pollIntervalMs: pollMs }
}
