import type { CallOptions, Query, Reply, RequestOptions } from '../operation.ts'
import type { Transport } from '../transport.ts'

export type Tools = Reply<'GET', '/core/v1/tools'>
export type Tool = Tools['tools'][number]
export type ToolRequest = RequestOptions<'POST', '/core/v1/tool/execute'>['body']
export type ToolResult = Reply<'POST', '/core/v1/tool/execute'>
export type ChangedToolPage = Reply<'GET', '/core/v1/tools/changed'>
type AcceptedTool = Reply<'POST', '/core/v1/tools/{name}/accept'>

/** The tools of the agent. */
export interface ToolMethods {
  /** Lists the tools with their schemas and states. */
  list(options?: CallOptions): Promise<Tools>
  /** Executes a tool without a chat. A tool that fails is a result with `status: "error"`. */
  execute(request: ToolRequest, options?: CallOptions): Promise<ToolResult>
  /** Lists the tools of MCP servers whose definition has changed since it was accepted. Such tools are not used. */
  changed(query?: Query<'GET', '/core/v1/tools/changed'>, options?: CallOptions): Promise<ChangedToolPage>
  /** Accepts the changed definition of a tool. With `hash`, no other definition than the reviewed definition is accepted. */
  accept(name: string, body?: { hash?: string }, options?: CallOptions): Promise<AcceptedTool>
}

export function createTools(transport: Transport): ToolMethods {
  return {
    list: (options) => transport.request('GET', '/core/v1/tools', options),
    execute: (body, options) => transport.request('POST', '/core/v1/tool/execute', { ...options, body }),
    changed: (query, options) => transport.request('GET', '/core/v1/tools/changed', { ...options, query }),
    accept: (name, body = {}, options) => transport.request('POST', '/core/v1/tools/{name}/accept', { ...options, path: { name }, body }),
  }
}
