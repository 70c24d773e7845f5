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
import { isId } from '../request-headers.ts'
import { ask, askName, askTool, type AskServices } from './ask.ts'
import { contextOf, type Caller } from '../protocol-caller.ts'
import { orFailure, toResult } from './results.ts'
import { fieldsOf } from '../../json/shape.ts'

export interface McpServices extends AskServices {
  tools: DirectExecution
  version: string
}

/** Supplies the schemas of tools, so that the library can compare `Mcp-Param-*` headers with annotated arguments before a call. */
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

/** Creates the MCP server for one exchange: the agent and its tools for one caller. */
export async function createMcpServer(services: McpServices, caller: Caller): Promise<McpServer> {
  const { config, tools: toolSet } = services.agent()
  const mayExecute = permits(caller.principal, accessTo.executeTool)
  // The library checks a call against the schema of its tool, so wait until all tools are connected.
  if (fieldsOf(caller.request.body)['method'] === 'tools/call') await toolSet.settling()
  const agentServer = new AgentServer({ name: config.name, version: services.version }, toolSet)
  const { server } = agentServer
  server.setRequestHandler('tools/list', async () => {
    await toolSet.settling()
    const tools = mayExecute ? [...toolsOf(toolSet)].map(toMcpTool) : []
    return { tools: [askTool(config), ...tools] }
  })
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const { name, arguments: input = {} } = params
    return withErrorMapping(caller, () => {
      if (name === askName) return ask(services, caller, input, context)
      return execute(services, caller, { name, input: input as JsonObject }, context)
    })
  })
  return agentServer
}

/** The error for a tool call without `tools.execute`; undefined for permitted messages. Checked before the library handles the message. */
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
  const toolSet = agent().tools
  await toolSet.settling()
  const tool = toolsOf(toolSet).get(name)
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

/** Ready tools by names that every client accepts. The name `ask` is reserved for the agent. */
function toolsOf(toolSet: ToolSet): Map<string, Tool> {
  const ready = toolSet.list().flatMap(({ tool }): Tool[] => (tool ? [tool] : []))
  const toolsByName = nameTools<Tool | { name: string }>([{ name: askName }, ...ready]) as Map<string, Tool>
  toolsByName.delete(askName)
  return toolsByName
}

function toMcpTool([name, { description: toolDescription, schema, effect, approval }]: [string, Tool]): McpTool {
  const inputSchema = { ...schema, type: 'object' as const } as McpTool['inputSchema']
  const description = approval
    ? `${toolDescription} Each call needs the approval of a person: use ${askName} instead, a direct call is refused.`
    : toolDescription
  return { name, description, inputSchema, annotations: { readOnlyHint: effect === 'read' } }
}

/** Maps errors of a tool call, since the library sends the message of any thrown error to the client. Unexpected errors are only logged. */
async function withErrorMapping({ request }: Caller, work: () => Promise<CallToolResult>): Promise<CallToolResult> {
  try {
    return await orFailure(work)
  } catch (error) {
    if (error instanceof ProtocolError) throw error
    request.log.error({ err: error }, 'unexpected failure')
    throw new ProtocolError(ProtocolErrorCode.InternalError, 'Internal server error.')
  }
}
