import { randomUUIDv7 } from 'node:crypto'
import {
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
  type ServerContext,
  type Tool as McpTool,
} from '@modelcontextprotocol/server'
import { accessTo, lacking, permits } from '../../access/operations.ts'
import type { JsonObject } from '../../agent/messages.ts'
import type { Tool, ToolSet } from '../../agent/tool.ts'
import { nameTools } from '../../agent/tool-names.ts'
import type { DirectExecution } from '../../runs/tool-executions/direct-execution.ts'
import { hashOf } from '../chat-request.ts'
import { isId } from '../ids.ts'
import { ask, askName, askTool, type AskServices } from './ask.ts'
import { contextOf, type Caller } from '../protocol-caller.ts'
import { orFailure, toResult } from './results.ts'
import { fieldsOf } from '../../json/is-object.ts'

export interface McpServices extends AskServices {
  tools: DirectExecution
  version: string
}

/** The library asks this class for a tool's schema before a call, and compares the headers `Mcp-Param-*` with annotated arguments. */
class AgentServer extends McpServer {
  private readonly tools: ToolSet

  constructor(info: { name: string; version: string }, tools: ToolSet) {
    super(info, { capabilities: { tools: {} } })
    this.tools = tools
  }

  override toolInputSchemaJson(name: string): Record<string, unknown> | undefined {
    return toolsOf(this.tools).get(name)?.schema
  }
}

/** The agent and its tools, for one exchange of one caller. */
export async function createMcpServer(services: McpServices, caller: Caller): Promise<McpServer> {
  const { config, tools: set } = services.agent()
  const mayExecute = permits(caller.principal, accessTo.executeTool)
  // A call is checked against the schema of its tool, which may be on its way.
  if (fieldsOf(caller.request.body)['method'] === 'tools/call') await set.settling()
  const product = new AgentServer({ name: config.name, version: services.version }, set)
  const { server } = product
  server.setRequestHandler('tools/list', async () => {
    await set.settling()
    const tools = mayExecute ? [...toolsOf(set)].map(toMcpTool) : []
    return { tools: [askTool(config), ...tools] }
  })
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const { name, arguments: input = {} } = params
    return withErrorMapping(caller, () => {
      if (name === askName) return ask(services, caller, input, context)
      return execute(services, caller, { name, input: input as JsonObject }, context)
    })
  })
  return product
}

/** Whether a message calls a tool that the caller's key does not permit: known before anything is done. */
export function permissionErrorOf(message: unknown, principal: Caller['principal']): Error | undefined {
  const { method, params } = fieldsOf(message)
  if (method !== 'tools/call' || fieldsOf(params)['name'] === askName || permits(principal, accessTo.executeTool)) return undefined
  return lacking(accessTo.executeTool)
}

async function execute(
  { tools, agent }: McpServices,
  { principal, request, disconnected }: Caller,
  { name, input }: { name: string; input: JsonObject },
  { mcpReq }: ServerContext,
): Promise<CallToolResult> {
  const set = agent().tools
  await set.settling()
  const tool = toolsOf(set).get(name)
  if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${name}.`)
  const toolRequest = {
    requestId: request.id,
    isRepeatable: isId(request.headers['request-id']),
    sessionId: undefined,
    newSessionId: randomUUIDv7(),
    bodyHash: hashOf({ toolName: tool.name, input, filters: [] }, ['body', 'params', 'arguments']),
    toolName: tool.name,
    input,
    filters: [],
    headers: contextOf(request, mcpReq._meta),
  }
  return toResult(await tools.execute(principal, toolRequest, AbortSignal.any([mcpReq.signal, disconnected])))
}

/** Those that are ready, by names that every client takes; `ask` is the agent's own. */
function toolsOf(set: ToolSet): Map<string, Tool> {
  const ready = set.list().flatMap(({ tool }): Tool[] => (tool ? [tool] : []))
  const named = nameTools<Tool | { name: string }>([{ name: askName }, ...ready]) as Map<string, Tool>
  named.delete(askName)
  return named
}

function toMcpTool([name, { description: own, schema, effect, approval }]: [string, Tool]): McpTool {
  const inputSchema = { ...schema, type: 'object' as const } as McpTool['inputSchema']
  const description = approval ? `${own} A person must approve of each call: ${askName} the agent for it, a direct call is refused.` : own
  return { name, description, inputSchema, annotations: { readOnlyHint: effect === 'read' } }
}

/** The protocol's library answers what is thrown with its message: of a bug nothing is told. */
async function withErrorMapping({ request }: Caller, work: () => Promise<CallToolResult>): Promise<CallToolResult> {
  try {
    return await orFailure(work)
  } catch (error) {
    if (error instanceof ProtocolError) throw error
    request.log.error({ err: error }, 'unexpected failure')
    throw new ProtocolError(ProtocolErrorCode.InternalError, 'Internal server error.')
  }
}
