import type { JSONRPCRequest, ServerContext } from '@modelcontextprotocol/server'
import type { OpenRun } from '../../../runs/open-run.ts'
import type { RunKey } from '../../../runs/run.ts'
import type { Runs } from '../../../runs/runs.ts'
import type { Caller } from '../protocol-caller.ts'
import { openRun, type Reader } from '../../reader.ts'
import type { McpClient } from './client.ts'

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
  /** Reports a step to a client that has sent a progress token; otherwise does nothing. Never rejects. */
  report(text: string): Promise<void>
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

/** Reports steps as progress notifications. The number grows with each of them. */
export function createReport({ mcpReq }: ServerContext): McpCall['report'] {
  const progressToken = mcpReq._meta?.progressToken
  let progress = 0
  return async (message) => {
    if (progressToken === undefined) return
    progress++
    await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(() => undefined)
  }
}
