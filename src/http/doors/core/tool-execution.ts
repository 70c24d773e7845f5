import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { accessTo } from '../../../access/permissions.ts'
import type { JsonObject, JsonValue } from '../../../agent/messages.ts'
import { hintLimits } from '../../../runs/intake/checks.ts'
import type { DirectExecution } from '../../../runs/tool-executions/direct-execution.ts'
import type { ToolRequest } from '../../../runs/tool-executions/tool-execution.ts'
import { DataFilterHints, GeneratedArtifact } from '../../schemas/chat.ts'
import { IdHeaders, namedObject, replies, route } from '../../schemas/shared.ts'
import type { App } from '../../server/app.ts'
import { principalOf } from '../../server/authenticate.ts'
import { disconnectSignal } from '../../reader.ts'
import { contentBytes } from '../../server/read-bodies.ts'
import { contextHeaders, isId, setSessionId, traceparentOf } from '../../server/request-headers.ts'
import { duringPhase } from '../../server/server-timing.ts'
import { toFilters } from '../../schemas/chat.ts'
import { hashOf } from './open-chat.ts'

const ExecuteBody = namedObject('ToolExecutionRequest', {
  tool_name: Type.String({ minLength: 1, maxLength: hintLimits.nameCharacters }),
  tool_input: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  data_filter_hints: DataFilterHints,
})

const Executed = namedObject('ToolExecution', {
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

/** The route that executes a tool outside of a conversation. */
export function toolExecutionRoute(app: App, { tools: execution }: { tools: DirectExecution }): void {
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
      Object.assign(request, { body: undefined })
      const execute = () => execution.execute(principalOf(request), toolRequest, disconnectSignal(reply))
      const { sessionId, result } = await duringPhase(request, 'tools', execute)
      setSessionId(request, reply, sessionId)
      return { ...result, output: toObject(result.output) }
    },
  )
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
