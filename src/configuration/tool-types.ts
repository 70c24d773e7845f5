import { Type, type Static, type TObject } from 'typebox'
import { checkMcp, Hosts, HttpRequestConfig, McpConfig, OpenApiConfig, strictObject, checkSpec } from './server-tool-schemas.ts'
import type { ToolMarks } from '../agent/tool.ts'
import { problemAt, type ConfigProblem, type Path } from './problems.ts'
import { checkProviderSettings, ProviderToolConfig } from './provider-tool-schema.ts'
import { maxEntries, optional, optionalFlag, optionalInteger, optionalNumber } from './schema-parts.ts'

/** Properties of a tool type that the service needs before creating a tool. */
export interface ToolTypeTraits {
  /**
   * The skill on the public agent card. The tool's own description is not public: the description of `data_query` contains values of the data,
   * the description of `knowledge_search` headings of documents, and descriptions of `mcp`, `openapi` and `module` are for callers with a key.
   */
  skill: string
  /** The schema of `config`. */
  config: TObject
  /** Marks for containment of the tools of the type; an entry may replace each. */
  marks: ToolMarks
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

/** A tool without output of strangers, private output or a way out. */
const own = { trust: 'trusted', private: false, outbound: false } as const satisfies ToolMarks
/** The same, with data of the tenant. */
const ofTenant = { ...own, private: true } as const satisfies ToolMarks
/** Public texts of strangers, by an address that the model names. */
const ofStrangers = { trust: 'untrusted', private: false, outbound: true } as const satisfies ToolMarks
/** A server of others, with data of the tenant. */
const ofServer = { trust: 'untrusted', private: true, outbound: true } as const satisfies ToolMarks

function patterns(description: string) {
  return Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: maxEntries, description })
}

const readablePaths = 'Files under FILES_ROOT that the tool may read: paths, or patterns such as `handbook/**`. Default: all files.'

/** The tool types, each described once. A type is added with a row here, a builder, and a line in `tools/catalog.ts`. */
export const toolTypes = {
  calculator: {
    skill: 'Evaluates expressions and converts units.',
    marks: own,
    config: Type.Object({}, strictObject('Calculates exactly, with units and dates.')),
  },
  current_time: {
    skill: 'Looks up the current date and time.',
    marks: own,
    config: Type.Object({}, strictObject('Returns the time in a time zone.')),
  },
  list_files: {
    skill: 'Lists the files that the agent can read.',
    marks: own,
    config: Type.Object(
      { paths: optional(patterns(readablePaths)) },
      strictObject('Lists files under FILES_ROOT, all or the files of `paths`.'),
    ),
  },
  read_file: {
    skill: 'Reads files.',
    marks: ofTenant,
    config: Type.Object(
      { paths: optional(patterns(readablePaths)) },
      strictObject('Reads files under FILES_ROOT, all or the files of `paths`.'),
    ),
  },
  write_file: {
    skill: 'Writes text files for download.',
    marks: own,
    config: Type.Object({}, strictObject('Writes files, which are attached to the answer.')),
  },
  knowledge_search: {
    skill: 'Searches documents.',
    marks: ofTenant,
    config: Type.Object(
      {
        paths: optional(patterns('The documents under FILES_ROOT: paths, or patterns such as `handbook/**`. Default: none.')),
        uploads: optionalFlag(
          "Whether the documents that the caller's tenant has uploaded (`POST /core/v1/knowledge`) are searched too. Default: true.",
        ),
      },
      strictObject("Finds passages in the files of `paths` and in the tenant's uploaded documents."),
    ),
    check: ({ paths, uploads }, at) =>
      paths === undefined && uploads === false ? [problemAt([...at, 'paths'], 'is required where `uploads` is false')] : [],
  },
  data_query: {
    skill: 'Queries tables of data.',
    marks: ofTenant,
    config: Type.Object(
      {
        tables: Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }), Type.String({ minLength: 1 }), {
          minProperties: 1,
          maxProperties: maxEntries,
          description: 'The tables by name: each is a file under FILES_ROOT, or a pattern whose files are read as one table.',
        }),
        max_rows: optionalInteger('The rows that one query returns. Default: 200.', { minimum: 1, maximum: 10_000 }),
      },
      strictObject('SQL over files: each of `tables` is a file or pattern under FILES_ROOT.'),
    ),
  },
  mcp: {
    skill: 'Calls a tool of an MCP server.',
    marks: ofServer,
    isGroup: true,
    codeFields: ['command', 'args', 'env', 'cwd'],
    protocol: 'mcp',
    check: checkMcp,
    config: McpConfig,
  },
  openapi: {
    skill: 'Calls an operation of an HTTP API.',
    marks: ofServer,
    isGroup: true,
    check: ({ spec }, at) => checkSpec(spec, [...at, 'spec']),
    config: OpenApiConfig,
  },
  module: {
    skill: 'Calls a custom tool.',
    marks: own,
    codeFields: ['path'],
    config: Type.Object(
      { path: Type.String({ minLength: 1, description: 'The TypeScript or JavaScript file, relative to agent.yaml.' }) },
      strictObject('A custom tool: a file whose default export is a tool.'),
    ),
  },
  run_python: {
    skill: 'Runs Python code.',
    marks: own,
    config: Type.Object(
      {
        memory_mb: optionalInteger('The memory of one process, in MiB. Default: 512.', { minimum: 256, maximum: 4096 }),
        keep_minutes: optionalNumber('Minutes for which the variables of a conversation are kept. Default: 10.', {
          minimum: 0,
          maximum: 1440,
        }),
        max_processes: optionalInteger('The number of Python processes. Default: 4.', { minimum: 1, maximum: 64 }),
      },
      strictObject('Runs Python in a sandbox without access to the network and to this machine.'),
    ),
  },
  chart: {
    skill: 'Draws charts.',
    marks: own,
    config: Type.Object({}, strictObject('Draws charts as SVG or PNG, by Vega-Lite.')),
  },
  web_page: {
    skill: 'Reads web pages.',
    marks: ofStrangers,
    config: Type.Object({ allowed_hosts: optional(Hosts) }, strictObject('Reads pages of the web as text.')),
  },
  http_request: {
    skill: 'Makes HTTP requests.',
    marks: ofStrangers,
    hasSecretsByHost: true,
    config: HttpRequestConfig,
  },
  provider: {
    skill: 'Uses a tool of the model provider.',
    marks: ofStrangers,
    check: checkProviderSettings,
    config: ProviderToolConfig,
  },
} as const satisfies Record<string, ToolTypeTraits>

export type ToolType = keyof typeof toolTypes

/** The type of `config` of a tool type. */
export type ToolConfigOf<T extends ToolType> = Static<(typeof toolTypes)[T]['config']>

/** The traits of a tool type; undefined for an unknown name. */
export function findToolType(name: unknown): ToolTypeTraits | undefined {
  return typeof name === 'string' && Object.hasOwn(toolTypes, name) ? toolTypes[name as ToolType] : undefined
}
