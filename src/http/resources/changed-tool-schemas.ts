import { Type } from 'typebox'
import { named } from '../openapi/named.ts'

/** Schemas of tools of MCP servers whose definition has changed. */

/** What a server states about a tool. */
export const ToolDefinition = named(
  'ToolDefinition',
  Type.Object(
    {
      hash: Type.String({ description: 'Hash of everything that the server states about the tool.' }),
      description: Type.String(),
      schema: Type.Record(Type.String(), Type.Unknown(), { description: "JSON Schema of the tool's input." }),
      annotations: Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
        description: 'Hints of the server, such as `readOnlyHint`. Null if they were not recorded.',
      }),
      seen_at: Type.String({ format: 'date-time', description: 'When the server listed this definition first.' }),
    },
    { description: 'A definition of a tool, as an MCP server states it.' },
  ),
)

export const ChangedTool = named(
  'ChangedTool',
  Type.Object(
    {
      name: Type.String({ description: '`<entry>__<tool>`.' }),
      entry: Type.String({ description: 'The entry of `tools` in agent.yaml.' }),
      accepted: ToolDefinition,
      changed: ToolDefinition,
      changes: Type.Array(Type.String(), { description: 'The differences, each a line.' }),
    },
    {
      description: 'A tool that is not used until its changed definition is accepted.',
    },
  ),
)

export const ChangedToolPage = named(
  'ChangedToolPage',
  Type.Object({
    tools: Type.Array(ChangedTool),
    offset: Type.Union([Type.String(), Type.Null()], { description: 'The `before` of the next page; null for an empty page.' }),
    has_more: Type.Boolean(),
  }),
)

export const AcceptedTool = named(
  'AcceptedTool',
  Type.Object({ name: Type.String(), accepted: ToolDefinition }, { description: 'A tool with its accepted definition.' }),
)
