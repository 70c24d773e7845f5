import { Type, type Static, type TObject } from 'typebox'
import { checkMcp } from './mcp-rules.ts'
import type { ConfigProblem, Path } from './problems.ts'
import { Address, Effect, maxEntries, maxSecrets, optional, Secret, Secrets, strict } from './schema-parts.ts'
import { checkSpec } from './spec-rules.ts'

/** Properties of a tool type that the service needs before creating a tool. */
export interface ToolTypeTraits {
  /**
   * The skill on the public agent card. The tool's own description is not public: the description of `data_query` contains values of the data,
   * the description of `knowledge_search` headings of documents, and descriptions of `mcp`, `openapi` and `module` are for callers with a key.
   */
  skill: string
  /** The schema of `config`. */
  config: TObject
  /** Rules for `config` beyond the schema. */
  check?(config: Readonly<Record<string, unknown>>, at: Path): ConfigProblem[]
  /** An entry stands for several tools, each named `<entry>__<tool>`. */
  isGroup?: true
  /** Fields of `config` that name a command or a file to run. Changes need the permission for code (`CONFIG_CODE`). */
  codeFields?: readonly string[]
  /** The keys of `config.headers` are hosts, and the secrets under a key are sent to the host. */
  hasSecretsByHost?: true
  /** Calls are traced by OpenTelemetry's conventions for the protocol. */
  protocol?: 'mcp'
}

const Patterns = Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: maxEntries })

const Effects = Type.Record(Type.String(), Effect, {
  maxProperties: 2000,
  description:
    'By tool, without the name of the entry: a `read` may be repeated after a crash, a `write` never is. Default: the effect that the tool declares.',
})
const Selector = Type.String({ minLength: 1, maxLength: 500 })
const Only = Type.Array(Selector, { maxItems: maxEntries, description: 'Names, or patterns with "*".' })
const OnlyOperations = Type.Array(Selector, {
  maxItems: maxEntries,
  description: 'Operations by name, patterns with "*", or by tag: `tag:pets`.',
})
const Host = Type.String({
  pattern: '^(\\*\\.)?[A-Za-z0-9.-]+(:[0-9]+)?$|^\\[[0-9a-fA-F:.]+\\](:[0-9]+)?$',
  description: 'A host without scheme and path: "example.com", "*.example.com" for all under it, "example.com:8443".',
})

const Hosts = Type.Array(Host, { maxItems: maxEntries, description: 'Default: every public host.' })

const OAuth = Type.Object(
  {
    client_id: Type.String({ minLength: 1 }),
    client_secret: Secret,
    scope: optional(Type.String()),
    token_url: optional(Address),
    resource: optional(
      Type.String({
        description:
          'The audience of tokens (RFC 8707); default: the address of the server. Empty if the authorization server refuses the parameter.',
      }),
    ),
  },
  { ...strict, description: 'Client credentials (RFC 6749, 4.4); `token_url` if another server issues the tokens.' },
)

/** The options of an object schema without further properties. */
function strictObject(description: string) {
  return { ...strict, description }
}

/** The tool types, each described once. A type is added with a row here, a builder, and a line in `tools/catalog.ts`. */
export const toolTypes = {
  calculator: {
    skill: 'Evaluates expressions and converts units.',
    config: Type.Object({}, strictObject('Calculates exactly, with units and dates.')),
  },
  current_time: {
    skill: 'Looks up the current date and time.',
    config: Type.Object({}, strictObject('Returns the time in a time zone.')),
  },
  list_files: {
    skill: 'Lists the files that the agent can read.',
    config: Type.Object({ paths: optional(Patterns) }, strictObject('Lists files under FILES_ROOT, all or the files of `paths`.')),
  },
  read_file: {
    skill: 'Reads files.',
    config: Type.Object({ paths: optional(Patterns) }, strictObject('Reads files under FILES_ROOT, all or the files of `paths`.')),
  },
  write_file: {
    skill: 'Writes text files for download.',
    config: Type.Object({}, strictObject('Writes files, which are attached to the answer.')),
  },
  knowledge_search: {
    skill: 'Searches documents.',
    config: Type.Object({ paths: Patterns }, strictObject('Finds passages in the files of `paths`.')),
  },
  data_query: {
    skill: 'Queries tables of data.',
    config: Type.Object(
      {
        tables: Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }), Type.String({ minLength: 1 }), {
          minProperties: 1,
          maxProperties: maxEntries,
        }),
        max_rows: optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
      },
      strictObject('SQL over files: each of `tables` is a file or pattern under FILES_ROOT.'),
    ),
  },
  mcp: {
    skill: 'Calls a tool of an MCP server.',
    isGroup: true,
    codeFields: ['command', 'args', 'env', 'cwd'],
    protocol: 'mcp',
    check: checkMcp,
    config: Type.Object(
      {
        url: optional(Address),
        headers: optional(Secrets),
        oauth: optional(OAuth),
        command: optional(
          Type.String({ minLength: 1, description: 'Starts the server on this machine; messages go through standard input and output.' }),
        ),
        args: optional(Type.Array(Type.String(), { maxItems: maxEntries })),
        env: optional(Secrets),
        cwd: optional(Type.String({ minLength: 1, description: 'Relative to agent.yaml; default: its folder.' })),
        include: optional(Only),
        exclude: optional(Only),
        effects: optional(Effects),
        pin: optional(
          Type.Boolean({ description: 'A tool with a changed description or schema is not used until the change is accepted.' }),
        ),
      },
      strictObject('A server of the Model Context Protocol: at a `url`, or started by a `command`. Its tools are named `<name>__<tool>`.'),
    ),
  },
  openapi: {
    skill: 'Calls an operation of an HTTP API.',
    isGroup: true,
    check: ({ spec }, at) => checkSpec(spec, [...at, 'spec']),
    config: Type.Object(
      {
        spec: Type.String({ minLength: 1, description: 'A file beside agent.yaml, or an address.' }),
        base_url: optional(Address),
        headers: optional(Secrets),
        credentials: optional(
          Type.Record(Type.String(), Type.String(), {
            writeOnly: true,
            maxProperties: maxSecrets,
            description: 'By security scheme: the key or token; for basic `user:password`, for client credentials `id:secret`.',
          }),
        ),
        token_url: optional(Type.String({ ...Address, description: 'For client credentials, in place of the address in the document.' })),
        include: optional(OnlyOperations),
        exclude: optional(OnlyOperations),
        effects: optional(Effects),
      },
      strictObject('An HTTP API by its OpenAPI document. Its tools are named `<name>__<operationId>`.'),
    ),
  },
  module: {
    skill: 'Calls a custom tool.',
    codeFields: ['path'],
    config: Type.Object(
      { path: Type.String({ minLength: 1, description: 'A TypeScript or JavaScript file, relative to agent.yaml.' }) },
      strictObject('A custom tool: a file whose default export is a tool.'),
    ),
  },
  run_python: {
    skill: 'Runs Python code.',
    config: Type.Object(
      {
        memory_mb: optional(Type.Integer({ minimum: 256, maximum: 4096, description: 'Memory of one process; default 512.' })),
        keep_minutes: optional(
          Type.Number({ minimum: 0, maximum: 1440, description: 'How long the variables of a conversation are kept; default 10.' }),
        ),
        max_processes: optional(Type.Integer({ minimum: 1, maximum: 64, description: 'Default 4.' })),
      },
      strictObject('Runs Python in a sandbox without access to the network and to this machine.'),
    ),
  },
  chart: {
    skill: 'Draws charts.',
    config: Type.Object({}, strictObject('Draws charts as SVG or PNG, by Vega-Lite.')),
  },
  web_page: {
    skill: 'Reads web pages.',
    config: Type.Object({ allowed_hosts: optional(Hosts) }, strictObject('Reads pages of the web as text.')),
  },
  http_request: {
    skill: 'Makes HTTP requests.',
    hasSecretsByHost: true,
    config: Type.Object(
      {
        allowed_hosts: optional(Hosts),
        context_hosts: optional(Type.Array(Host, { maxItems: maxEntries, description: "Get the caller's stix headers." })),
        methods: optional(Type.Array(Type.Enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']), { minItems: 1 })),
        headers: optional(
          Type.Record(Host, Secrets, {
            maxProperties: maxEntries,
            description: 'By host: headers of requests to the host, never shown to the model.',
          }),
        ),
      },
      strictObject('Sends HTTP requests to public hosts or to the allowed hosts.'),
    ),
  },
} as const satisfies Record<string, ToolTypeTraits>

export type ToolType = keyof typeof toolTypes

/** The type of `config` of a tool type. */
export type ToolConfigOf<T extends ToolType> = Static<(typeof toolTypes)[T]['config']>

/** The traits of a tool type; undefined for an unknown name. */
export function findToolType(name: unknown): ToolTypeTraits | undefined {
  return typeof name === 'string' && Object.hasOwn(toolTypes, name) ? toolTypes[name as ToolType] : undefined
}
