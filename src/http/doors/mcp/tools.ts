import { randomUUIDv7 } from 'node:crypto'
import { ProtocolError, ProtocolErrorCode, type CallToolResult, type Tool as McpTool } from '@modelcontextprotocol/server'
import type { ToolProgress } from '../../../agent/events.ts'
import type { JsonObject } from '../../../agent/messages.ts'
import { nameTools } from '../../../agent/tool-names.ts'
import type { Tool, ToolSet } from '../../../agent/tool.ts'
import type { CurrentAgent } from '../../../configuration/agent.ts'
import type { DirectExecution } from '../../../runs/tool-executions/direct-execution.ts'
import { isId } from '../../server/request-headers.ts'
import { hashOf } from '../core/open-chat.ts'
import { contextOf } from '../protocols.ts'
import type { McpCall } from './call.ts'
import { toResult } from './results.ts'

/** The tools of MCP: `ask` for the agent, and the agent's own tools. */

export const askName = 'ask'

/** The MCP tool that asks the agent. `mayBeTask`: legacy clients may call it as a task. */
export function askTool({ name, description }: { name: string; description: string }, mayBeTask: boolean): McpTool {
  return {
    name: askName,
    title: `Ask ${name}`,
    description: [`Asks the agent ${name} and returns its answer.`, description].filter((part) => part !== '').join(' '),
    ...(mayBeTask && { execution: { taskSupport: 'optional' } }),
    inputSchema: askInput,
    outputSchema: askOutput,
  }
}

const askInput: McpTool['inputSchema'] = {
  type: 'object',
  properties: {
    message: { type: 'string', minLength: 1, description: 'The question to the agent.' },
    session_id: {
      type: 'string',
      description: 'The session_id of an earlier answer, to continue that conversation. Without a session_id a new conversation begins.',
    },
  },
  required: ['message'],
  additionalProperties: false,
}

const askOutput: McpTool['outputSchema'] = {
  type: 'object',
  properties: {
    output: { type: 'string' },
    structured_output: { description: 'The value of `output`, where the agent answers with JSON that fits a schema.' },
    session_id: { type: 'string' },
    request_id: { type: 'string' },
    generated_artifacts: {
      type: 'array',
      description: 'Files that the agent made; each `download_url` works until `expires_at`.',
      items: {
        type: 'object',
        properties: {
          artifact_id: { type: 'string' },
          file_name: { type: 'string' },
          file_type: { type: 'string' },
          size: { type: 'integer' },
          download_url: { type: 'string' },
          expires_at: { type: 'string' },
        },
        required: ['artifact_id', 'file_name', 'file_type', 'size'],
      },
    },
    approval_required: {
      type: 'object',
      description: 'Tool calls that wait for the approval of a person; the output is the answer so far.',
      properties: {
        request_id: { type: 'string' },
        calls: {
          type: 'array',
          items: {
            type: 'object',
            properties: { tool_call_id: { type: 'string' }, tool: { type: 'string' }, tool_input: { type: 'object' } },
            required: ['tool_call_id', 'tool', 'tool_input'],
          },
        },
      },
      required: ['request_id', 'calls'],
    },
    budget_required: {
      type: 'object',
      description: 'The budget that is used up; the output is the answer so far.',
      properties: {
        request_id: { type: 'string' },
        budget: { type: 'string' },
        needed: { type: 'object' },
        resets_at: { type: 'string' },
      },
      required: ['request_id', 'budget', 'needed'],
    },
  },
  required: ['output', 'session_id', 'request_id'],
}

export interface ToolServices {
  tools: DirectExecution
  agent: CurrentAgent
}

/** Executes a tool that the service runs, without the agent. */
export async function execute(
  { tools, agent }: ToolServices,
  { caller: { principal, request }, context, disconnected, report }: McpCall,
  { name, input }: { name: string; input: JsonObject },
): Promise<CallToolResult> {
  const tool = toolsOf(agent().tools).get(name)
  if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${name.slice(0, 100)}.`)
  const toolRequest = {
    requestId: request.id,
    isRepeatable: isId(request.headers['request-id']),
    sessionId: undefined,
    newSessionId: randomUUIDv7(),
    bodyHash: hashOf({ toolName: tool.name, input, filters: [] }, ['body', 'params', 'arguments']),
    toolName: tool.name,
    input,
    filters: [],
    headers: contextOf(request, context.mcpReq._meta),
    onLog: (text: string) => void report.text(text),
    onProgress: (progress: ToolProgress) => void report.progress(progress),
  }
  return toResult(await tools.execute(principal, toolRequest, disconnected))
}

/** Ready tools that the service runs, by names that every client accepts. The name `ask` is reserved for the agent. */
export function toolsOf(toolSet: ToolSet): Map<string, Tool> {
  const ready = toolSet.list().flatMap(({ tool }): Tool[] => (tool && !tool.provider ? [tool] : []))
  const toolsByName = nameTools<Tool | { name: string }>([{ name: askName }, ...ready]) as Map<string, Tool>
  toolsByName.delete(askName)
  return toolsByName
}

/** A tool of the agent, as clients see it. */
export function toMcpTool([name, { description: toolDescription, schema, effect, approval }]: [string, Tool]): McpTool {
  const inputSchema = { ...schema, type: 'object' as const } as McpTool['inputSchema']
  const description = approval
    ? `${toolDescription} Each call needs the approval of a person: use ${askName} instead, a direct call is refused.`
    : toolDescription
  return { name, description, inputSchema, annotations: { readOnlyHint: effect === 'read' } }
}
