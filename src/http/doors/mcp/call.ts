import { randomUUIDv7 } from 'node:crypto'
import {
  type JSONRPCRequest,
  type ServerContext,
  CLIENT_CAPABILITIES_META_KEY,
  RELATED_TASK_META_KEY,
  type McpRequestContext,
} from '@modelcontextprotocol/server'
import type { FastifyRequest } from 'fastify'
import type { ToolProgress } from '../../../agent/events.ts'
import { fieldsOf, isObject } from '../../../json/shape.ts'
import type { OpenRun } from '../../../runs/open-run.ts'
import type { RunKey } from '../../../runs/run.ts'
import type { Runs } from '../../../runs/runs.ts'
import { openRun, type Reader } from '../../reader.ts'
import type { Caller } from '../protocols.ts'

/** A request that is answered when a run or a tool has ended. */
export interface McpCall {
  caller: Caller
  client: McpClient
  context: ServerContext
  /** Aborted when the request is cancelled, or the client disconnects. */
  disconnected: AbortSignal
  /** True if the request only waits for a task, which goes on when the client disconnects. */
  isTask?: boolean
  /** Sends a request to a legacy client, on the stream of this call. */
  send(message: JSONRPCRequest): Promise<void>
  /** Reports to a client that has sent a progress token; otherwise does nothing. Never rejects. */
  report: Report
}

export function readerOf({ caller: { request }, disconnected }: McpCall): Reader {
  return { request, disconnected }
}

export function keyOf({ principal: { tenant, owner } }: Pick<Caller, 'principal'>, requestId: string): RunKey {
  return { tenant, owner, requestId }
}

/** Opens an existing run of the caller for the client of a call. */
export function followRun({ runs }: { runs: Pick<Runs, 'follow'> }, call: McpCall, requestId: string): Promise<OpenRun> {
  return openRun(readerOf(call), (disconnected) => runs.follow(keyOf(call.caller, requestId), disconnected))
}

export interface Report {
  /** Reports a sentence. The number of the notification is one more than the number before. */
  text(message: string): Promise<void>
  /** Reports progress as the tool counts it. Numbers must grow: a report that goes back is left out. */
  progress(progress: ToolProgress): Promise<void>
}

export function createReport({ mcpReq }: ServerContext): Report {
  const progressToken = mcpReq._meta?.progressToken
  let last = 0
  let isFirst = true
  async function progress(report: ToolProgress): Promise<void> {
    if (progressToken === undefined || (!isFirst && report.progress <= last)) return
    isFirst = false
    last = report.progress
    await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...report } }).catch(() => undefined)
  }
  return { progress, text: (message) => progress({ progress: last + 1, message }) }
}

/** The revisions of MCP in two groups: `legacy` begins with `initialize`, `modern` (2026-07-28) states everything in each request. */
export type Era = McpRequestContext['era']

/** The abilities of a client that an answer depends on. */
export interface McpClient {
  era: Era
  /** The client shows forms to its user (elicitation in form mode). */
  takesForms: boolean
  /** The client opens pages for its user, after showing the address (elicitation in url mode). */
  takesUrls: boolean
  /** Modern only: the client takes a task as the answer to a call. Legacy clients ask for a task in the call itself. */
  takesTasks: boolean
}

/** The tasks extension of revision 2026-07-28 (SEP-2663). */
export const tasksExtension = 'io.modelcontextprotocol/tasks'

/** Parts of the session ids of clients that show forms, and that open pages. */
const marks = { form: '-forms', url: '-urls' }

/**
 * The id of a new MCP session. Only `initialize` states the abilities of a legacy client, and the next request may reach another
 * process; so the id carries the abilities that matter. A client that changes the id changes only the client's own answers.
 */
export function createSessionId(initialize: unknown): string {
  const { capabilities } = fieldsOf(fieldsOf(initialize)['params'])
  return randomUUIDv7() + (takes('form', capabilities) ? marks.form : '') + (takes('url', capabilities) ? marks.url : '')
}

export function clientOf(era: Era, { headers }: Pick<FastifyRequest, 'headers'>, { mcpReq }: ServerContext): McpClient {
  if (era === 'legacy') {
    const sessionId = String(headers['mcp-session-id'] ?? '')
    return { era, takesForms: sessionId.includes(marks.form), takesUrls: sessionId.includes(marks.url), takesTasks: false }
  }
  const capabilities = fieldsOf(mcpReq.envelope)[CLIENT_CAPABILITIES_META_KEY]
  const { extensions } = fieldsOf(capabilities)
  const takesTasks = isObject(fieldsOf(extensions)[tasksExtension])
  return { era, takesForms: takes('form', capabilities), takesUrls: takes('url', capabilities), takesTasks }
}

/** An elicitation capability without modes means forms (MCP 2025-11-25, elicitation). */
function takes(mode: 'form' | 'url', capabilities: unknown): boolean {
  const { elicitation } = fieldsOf(capabilities)
  return isObject(elicitation) && (isObject(elicitation[mode]) || (mode === 'form' && Object.keys(elicitation).length === 0))
}

/** The entry of `_meta` that names the task of a message (2025-11-25). */
export function relatedTask(taskId: string) {
  return { [RELATED_TASK_META_KEY]: { taskId } }
}
