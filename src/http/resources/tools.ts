import { replies, route, IdHeaders, namedObject } from '../schemas/shared.ts'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import { accessTo, permits } from '../../access/permissions.ts'
import type { JsonObject, JsonValue } from '../../agent/messages.ts'
import type { DataScope, ToolListing, ToolState } from '../../agent/tool.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import type { DirectExecution } from '../../runs/tool-executions/direct-execution.ts'
import type { ToolRequest } from '../../runs/tool-executions/tool-execution.ts'
import { hintLimits } from '../../runs/intake/checks.ts'
import { principalOf } from '../server/authenticate.ts'
import { hashOf, toFilters } from '../doors/core/chat-request.ts'
import { contextHeaders, isId, setSessionId, traceparentOf } from '../server/request-headers.ts'
import { duringPhase } from '../server/server-timing.ts'
import { GeneratedArtifact, DataFilterHints } from '../schemas/chat.ts'
import { contentBytes } from '../server/read-bodies.ts'
import { disconnectSignal } from '../reader.ts'

export interface ToolServices {
  agent: CurrentAgent
  tools: DirectExecution
}

export const ListedTool = namedObject('Tool', {
  name: Type.String(),
  description: Type.String(),
  status: Type.Enum(['ready', 'initializing', 'error']),
  schema: Type.Record(Type.String(), Type.Unknown(), { description: "JSON Schema of the tool's input." }),
})

const ExecuteBody = namedObject('ToolExecutionRequest', {
  tool_name: Type.String({ minLength: 1, maxLength: hintLimits.nameCharacters }),
  tool_input: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  data_filter_hints: DataFilterHints,
})

export const Executed = namedObject('ToolExecution', {
  tool_name: Type.String(),
  output: Type.Record(Type.String(), Type.Unknown(), {
    description: 'The output of the tool: an object as it is, any other value as `{result}`, the failure of a tool as `{error}`.',
  }),
  execution_time: Type.Number({ description: 'Seconds.' }),
  status: Type.Enum(['success', 'error']),
  generated_artifacts: Type.Optional(
    Type.Array(GeneratedArtifact, {
      description: 'Files that the tool created, kept for a day. `download_url` is absent if the key lacks artifacts.read.',
    }),
  ),
})

/** Routes to list tools, and to execute a tool outside of a conversation. */
export function toolRoutes(app: App, { agent, tools: execution }: ToolServices): void {
  app.get(
    '/core/v1/tools',
    route('tools.read', 'Tools', {
      summary: 'List the tools of the agent',
      text: 'The tools of the agent with the JSON Schema of their input. `status` is the real one: `initializing` while a server is not connected yet, `error` with the reason at the end of `description`. A server that has never connected is listed under the name of its entry.',
      response: replies({ 200: Type.Object({ tools: Type.Array(ListedTool), count: Type.Integer() }) }),
    }),
    async (request) => {
      const mayExecute = permits(principalOf(request), accessTo.executeTool)
      const tools = agent()
        .tools.list()
        .map((tool) => toListed(tool, mayExecute))
      return { tools, count: tools.length }
    },
  )

  app.post(
    '/core/v1/tool/execute',
    route({ access: accessTo.executeTool, hasSession: true, maxBodyBytes: contentBytes }, 'Tools', {
      summary: 'Execute a tool outside of a conversation',
      text: `Runs a tool without a model, for example to test it, or to use the agent as a gateway to its tools. The list and the input of each tool: \`GET /core/v1/tools\`.

A tool that ran and failed is 200 with \`status: "error"\` and \`output: {error}\`.

- 400 \`InvalidInput\`: a parameter of \`tool_input\` is missing or wrong; the message names it.
- 404: there is no such tool.
- 409 \`ApprovalRequired\`: calls of the tool need an approval, which only a chat can wait for.
- 503 \`ToolNotReady\`: the tool is not connected yet.`,
      examples: {
        calculator: {
          summary: 'Arithmetic',
          value: { tool_name: 'calculator', tool_input: { expression: '2340 * 0.17' } },
        },
        query: {
          summary: 'SQL over the sales figures, only those of the region North',
          value: {
            tool_name: 'sales',
            tool_input: { sql: 'SELECT product, sum(amount) AS amount FROM sales GROUP BY product ORDER BY amount DESC LIMIT 3' },
            data_filter_hints: [{ tool_name: 'sales', filter_key: 'region', filter_type: 'equals', filter_value: 'North' }],
          },
        },
      },
      headers: IdHeaders,
      body: ExecuteBody,
      response: replies({ 200: Executed }, 400, 404, 409, 410),
    }),
    async (request, reply) => {
      const toolRequest = toToolRequest(request, request.body)
      // A tool may take minutes: keep only its input, not the whole body.
      dropBody(request)
      const execute = () => execution.execute(principalOf(request), toolRequest, disconnectSignal(reply))
      const { sessionId, result } = await duringPhase(request, 'tools', execute)
      setSessionId(request, reply, sessionId)
      return { ...result, output: toObject(result.output) }
    },
  )
}

function dropBody(request: FastifyRequest): void {
  request.body = undefined
}

/** The reply has an object in `output` for any value. Stored executions hold the value itself. */
function toObject(output: JsonValue): JsonObject {
  return typeof output === 'object' && output !== null && !Array.isArray(output) ? output : { result: output }
}

function toToolRequest(request: FastifyRequest, body: Type.Static<typeof ExecuteBody>): ToolRequest {
  const { tool_name: toolName, tool_input: input, data_filter_hints: hints } = body
  const filters = toFilters(hints)
  const traceparent = traceparentOf(request)
  return {
    requestId: request.id,
    isRepeatable: isId(request.headers['request-id']),
    sessionId: request.headers['session-id'] as string | undefined,
    newSessionId: request.sessionId,
    bodyHash: hashOf({ toolName, input, filters }, ['body', 'tool_input']),
    toolName,
    input: (input ?? {}) as JsonObject,
    filters,
    headers: contextHeaders(request),
    ...(traceparent !== undefined && { traceparent }),
  }
}

/** A scope without data: a description must not reveal any. */
const emptyScope: DataScope = { filters: [], isWithheld: () => true, restriction: '' }

/** Faults that a remark quotes. */
const maxFaults = 3

/** The state of a tool's data in words; undefined when everything can be used. */
function remarkOf({ progress, faults }: ToolState = { faults: [] }): string | undefined {
  const others = faults.length > maxFaults ? [`${faults.length - maxFaults} others cannot be used either`] : []
  const parts = [...(progress === undefined ? [] : [progress]), ...faults.slice(0, maxFaults), ...others]
  return parts.length === 0 ? undefined : parts.join('; ')
}

/** A tool in the list. Descriptions and failure reasons may quote data, so callers without `tools.execute` get a description without data. */
function toListed({ name, description, status, reason, schema, tool }: ToolListing, mayExecute: boolean) {
  if (!mayExecute) return { name, description: tool?.describe?.(emptyScope) ?? description, status, schema }
  const remark = status === 'error' ? reason : tool && remarkOf(tool.state?.())
  return { name, description: remark === undefined ? description : `${description} (${remark})`.trim(), status, schema }
}
