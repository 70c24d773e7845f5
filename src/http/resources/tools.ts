import { replies, route, namedObject } from '../schemas/shared.ts'
import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import { accessTo, permits } from '../../access/permissions.ts'
import { marksOf } from '../../agent/taint.ts'
import type { DataScope, Tool, ToolListing, ToolState } from '../../agent/tool.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { principalOf } from '../server/authenticate.ts'

export const ListedTool = namedObject('Tool', {
  name: Type.String(),
  description: Type.String(),
  status: Type.Enum(['ready', 'initializing', 'error']),
  effect: Type.Optional(
    Type.Enum(['read', 'write'], { description: 'Whether calls change something. Absent while the tool is not ready.' }),
  ),
  trust: Type.Optional(
    Type.Enum(['trusted', 'untrusted'], {
      description: 'Whether strangers can write the output, for `containment`. Absent while the tool is not ready.',
    }),
  ),
  private: Type.Optional(Type.Boolean({ description: "Whether the output is the tenant's data." })),
  outbound: Type.Optional(Type.Boolean({ description: 'Whether calls carry text of the model outside.' })),
  schema: Type.Record(Type.String(), Type.Unknown(), { description: "JSON Schema of the tool's input." }),
})

/** The route that lists the tools. */
export function toolRoutes(app: App, { agent }: { agent: CurrentAgent }): void {
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
  const marks = tool && toMarks(tool)
  if (!mayExecute) return { name, description: tool?.describe?.(emptyScope) ?? description, status, ...marks, schema }
  const remark = status === 'error' ? reason : tool && remarkOf(tool.state?.())
  return { name, description: remark === undefined ? description : `${description} (${remark})`.trim(), status, ...marks, schema }
}

function toMarks(tool: Tool) {
  const { trust, private: isPrivate, outbound } = marksOf(tool)
  return { effect: tool.effect, trust, private: isPrivate, outbound }
}
