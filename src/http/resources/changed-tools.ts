import { replies, route, orNull, namedObject, closed, pageLimit } from '../schemas/shared.ts'
import { Type } from 'typebox'
import type { App } from '../server/app.ts'
import type { CurrentAgent } from '../../configuration/agent.ts'
import { acceptChangedTool, listChangedToolsOf } from '../../configuration/mcp/changed-tools.ts'
import type { Definition, PinStore } from '../../configuration/mcp/pin-store.ts'
import { principalOf } from '../server/authenticate.ts'

const Query = Type.Object({
  limit: pageLimit,
  before: Type.Optional(Type.String({ maxLength: 512, description: 'The `offset` of the page before.' })),
})

const AcceptBody = closed({
  hash: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'The `hash` of the definition that was reviewed. A definition with another hash is not accepted, but answered with 409.',
    }),
  ),
})

/** Schemas of tools of MCP servers whose definition has changed. */

/** What a server states about a tool. */
const ToolDefinition = namedObject('ToolDefinition', 'A definition of a tool, as an MCP server states it.', {
  hash: Type.String({ description: 'Hash of everything that the server states about the tool.' }),
  description: Type.String(),
  schema: Type.Record(Type.String(), Type.Unknown(), { description: "JSON Schema of the tool's input." }),
  annotations: orNull(
    Type.Record(Type.String(), Type.Unknown()),
    'Hints of the server, such as `readOnlyHint`. Null if they were not recorded.',
  ),
  seen_at: Type.String({ format: 'date-time', description: 'When the server listed this definition first.' }),
})

const ChangedTool = namedObject('ChangedTool', 'A tool that is not used until its changed definition is accepted.', {
  name: Type.String({ description: '`<entry>__<tool>`.' }),
  entry: Type.String({ description: 'The entry of `tools` in agent.yaml.' }),
  accepted: ToolDefinition,
  changed: ToolDefinition,
  changes: Type.Array(Type.String(), { description: 'The differences, each a line.' }),
})

const ChangedToolPage = namedObject('ChangedToolPage', {
  tools: Type.Array(ChangedTool),
  offset: orNull(Type.String(), 'The `before` of the next page; null for an empty page.'),
  has_more: Type.Boolean(),
})

const AcceptedTool = namedObject('AcceptedTool', 'A tool with its accepted definition.', {
  name: Type.String(),
  accepted: ToolDefinition,
})

interface ChangedToolServices {
  agent: CurrentAgent
  pins: PinStore
}

/** Routes to review and accept tools of MCP servers whose definition has changed. */
export function changedToolRoutes(app: App, { agent, pins }: ChangedToolServices): void {
  const tag = 'Tools'
  app.get(
    '/core/v1/tools/changed',
    route('config.read', tag, {
      summary: 'List the tools of MCP servers that are disabled because their definition has changed',
      description:
        'Tools of entries with `pin: true` in the order of their names, with the accepted definition, the definition that the server states now, and the differences. All replicas share the list.',
      text: 'Use it to review what a server wants to change before the agent uses it. The list of the sample agent is empty, since it has no MCP server.',
      querystring: Query,
      response: replies({ 200: ChangedToolPage }, 422),
    }),
    async (request) => {
      const { limit, before } = request.query
      const changed = await listChangedToolsOf(agent().config, pins)
      const remaining = before === undefined ? changed : changed.filter(({ name }) => name > before)
      const tools = remaining.slice(0, limit)
      return {
        tools: tools.map((tool) => ({ ...tool, accepted: toDefinition(tool.accepted), changed: toDefinition(tool.changed) })),
        offset: tools.at(-1)?.name ?? null,
        has_more: remaining.length > limit,
      }
    },
  )

  app.post(
    '/core/v1/tools/:name/accept',
    {
      ...route('config.write', tag, {
        summary: 'Accept the changed definition of a tool',
        description: 'Every replica that has seen the definition uses the tool within 2 s.',
        text: `Take name and hash from \`GET /core/v1/tools/changed\`. Without \`hash\`, whatever waits is accepted.

404: no definition of this tool waits. 409 \`DefinitionChanged\`: the definition that waits has another hash.`,
        examples: {
          reviewed: { summary: 'Accept the definition that was reviewed', value: { hash: '5f0c2a9b71d3e846' } },
        },
        params: Type.Object({ name: Type.String({ description: 'The name of the tool, `<entry>__<tool>`.' }) }),
        body: AcceptBody,
        response: replies({ 200: AcceptedTool }, 404, 409),
      }),
      // A request without a body accepts whatever waits.
      preValidation: (request, _reply, done) => {
        request.body ??= {}
        done()
      },
    },
    async (request) => {
      const { name } = request.params
      const expectedHash = request.body.hash
      const acting = principalOf(request)
      const { accepted } = await acceptChangedTool(agent().config, pins, { name, expectedHash, acting })
      const { tenant, sub } = acting
      request.log.info({ tenant, sub, tool: name, hash: accepted.hash }, 'A changed tool was accepted')
      return { name, accepted: toDefinition(accepted) }
    },
  )
}

function toDefinition({ hash, description, schema, annotations, at }: Definition): Type.Static<typeof ToolDefinition> {
  return { hash, description, schema, annotations: annotations ?? null, seen_at: at }
}
