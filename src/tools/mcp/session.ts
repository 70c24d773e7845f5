import type { CallToolResult, InputRequiredResult, Progress, Tool as ListedTool } from '@modelcontextprotocol/client'
import type { JsonObject } from '../../agent/messages.ts'
import type { Outbound } from '../builder.ts'
import type { Logins } from './login/logins.ts'
import type { AllowedRequests, Answers, ServerRequests } from './server-requests.ts'

/** A connection to a server, from the handshake to the close. */
export interface Session {
  list(signal: AbortSignal): Promise<Listing>
  call(call: SessionCall): Promise<CallToolResult | InputRequiredResult>
  /** Lists or reads resources. The answer is not validated further than by the client library. */
  resources(request: ResourceRequest): Promise<Record<string, unknown>>
  /** True when the server has forgotten the session, and therefore has not executed the request. */
  isForgotten(error: unknown): boolean
  close(): Promise<void>
}

/** All tools of a server, not validated. */
export interface Listing {
  tools: readonly unknown[]
  /** True when a call repeats annotated arguments in HTTP headers. */
  mirrorsArguments: boolean
  hasResources: boolean
}

export interface ResourceRequest {
  method: 'resources/list' | 'resources/templates/list' | 'resources/read'
  params: { cursor?: string; uri?: string }
  meta: Record<string, unknown>
  signal: AbortSignal
  timeoutMs: number
}

export interface SessionCall {
  tool: ListedTool
  input: JsonObject
  meta: Record<string, unknown>
  signal: AbortSignal
  timeoutMs: number
  onProgress(progress: Progress): void
  /** Answers what the server asks for meanwhile. */
  requests: ServerRequests
  /** Answers to the input-required result of the call before. */
  answers?: Answers
}

export interface SessionEvents {
  /** The session has ended unexpectedly, for the given reason. */
  lost(reason: string): void
  /** A stream broke; the server may be unreachable and should be checked. */
  doubted(): void
  listChanged(): void
  /** A line for debugging: standard error of the command, or a transport fault. */
  noted(line: string): void
}

export interface SessionOptions {
  outbound: Outbound
  /** The login at a server at an address; absent for a server that is started as a command. */
  logins?: Logins
  /** Maximum time of a call. */
  timeoutMs: number
  /** What the server may ask for during a call. */
  allowed: AllowedRequests
}
