import type { Ajv, ErrorObject } from 'ajv'
import type { Logger } from 'pino'
import type { RequestInit, Response } from 'undici'
import type { JsonSchema } from '../agent/messages.ts'
import type { Tool, ToolListing, ToolMarks } from '../agent/tool.ts'
import type { LoginStore } from '../configuration/mcp/login-store.ts'
import type { Environment } from '../configuration/references.ts'
import type { PinStore } from '../configuration/mcp/pin-store.ts'
import type { FilesRoot } from '../files/root.ts'
import { createAjv } from '../json/schema/ajv.ts'
import { findEndlessCheck, createResolve, nodesOf } from '../json/schema/schema-nodes.ts'
import type { TenantDocuments } from '../knowledge/knowledge-store.ts'
import type { Search } from '../search/retriever.ts'

/** Dependencies of every tool builder. */
export interface ToolDependencies {
  files: FilesRoot
  /** Folder for files that a tool can rebuild. */
  cacheDir: string
  /** The accepted hash of the files of a module. Undefined without a gate: the module follows its files. */
  filesHash?: string | undefined
  /** Folder of agent.yaml; paths in an entry are relative to this folder. */
  configDir: string
  /** Values for `${NAME}` in secrets and addresses, resolved at each use. */
  environment: Environment
  outbound: Outbound
  /** Indexes of documents, searched by words and meaning. */
  search: Search
  /** The documents that tenants have uploaded. */
  documents: TenantDocuments
  /** Accepted definitions of the tools of MCP servers. */
  pins: PinStore
  /** Logins at MCP servers. */
  logins: LoginStore
  log: Logger
  /** Aborted when the entry is closed while its builder still runs. */
  signal?: AbortSignal
}

/** Port: how tools reach other hosts. */
export interface Outbound {
  /**
   * Fetches an address named by a caller or a model. Allowed are public addresses and those of OUTBOUND_ALLOW; the resolved address of
   * each connection is checked, redirects included. Rejects when an address is refused.
   */
  fetch(url: string, init?: OutboundInit): Promise<Response>
  /** Fetches an address configured by an administrator, public or not. Redirect targets must pass the rules of `fetch`. */
  fetchConfigured(url: string, init?: OutboundInit): Promise<Response>
}

export interface OutboundInit extends RequestInit {
  /**
   * Called with each address before the request, redirects included. Returns headers for this address alone, which replace headers of
   * the same name; a throw aborts the fetch. `hasLeft`: a redirect has already led to another origin.
   */
  headersFor?(url: URL, hasLeft: boolean): Readonly<Record<string, string>>
}

/** An entry of `tools` in the configuration, defaults filled in. */
export interface ToolSpec {
  name: string
  /** Replaces the tool's own description. */
  description?: string
  timeoutMs: number
  maxOutputCharacters: number
  /** Replaces the tool's own effect. */
  effect?: Tool['effect']
  /** The marks of the tools: from the entry, otherwise from the type. Absent: the strictest marks. */
  marks?: ToolMarks
  /** True for an entry that says so itself: no hint of a server lifts the mark. */
  isOutbound?: boolean
  config: Record<string, unknown>
}

/** Limits of an entry that sets none. */
export const toolDefaults = { timeoutMs: 30_000, maxOutputCharacters: 20_000 } as const

/** A tool, and `close` to call when no configuration uses the tool any more. */
export interface ToolBuild {
  tool: Tool
  close?(): Promise<void>
}

/** The tools of an entry whose tools may change: several named `<entry>__<tool>`, or a single tool with the name of the entry. */
export interface ToolGroup {
  /** The current tools; a server may change its tools at any time. */
  tools(): readonly Tool[]
  /** Tools that exist but cannot be used, each with a reason. */
  refused?(): readonly RefusedTool[]
  /** Why no tool of the group can be used at the moment, for an operator; undefined while the tools work. The group recovers by itself. */
  unavailableReason?(): string | undefined
  close?(): Promise<void>
}

export type RefusedTool = Required<Pick<ToolListing, 'name' | 'description' | 'schema' | 'reason'>>

/** Builds the tools of an entry. Throws the reason for an operator when the tools cannot be built; the build is retried later. */
export type ToolBuilder = (spec: ToolSpec, deps: ToolDependencies) => ToolBuild | ToolGroup | Promise<ToolBuild | ToolGroup>

/** The fields of a tool that an implementation provides; `createTool` derives the rest from the spec and the schema. */
export type ToolTraits = Omit<Tool, 'name' | 'timeoutMs' | 'maxOutputCharacters' | 'check' | 'filters'> & { filters?: boolean }

/** The schema of an input with these parameters and no others. */
export function inputSchema(properties: JsonSchema, required: readonly string[] = []): JsonSchema {
  return { type: 'object', properties, ...(required.length > 0 && { required }), additionalProperties: false }
}

/** Creates a tool of this program. Its schema is compiled when the tool is first called. */
export function createTool(spec: ToolSpec, traits: ToolTraits): Tool {
  let check: Tool['check'] | undefined
  return {
    filters: false,
    ...(spec.marks && { marks: spec.marks }),
    ...traits,
    name: spec.name,
    description: spec.description ?? traits.description,
    timeoutMs: spec.timeoutMs,
    maxOutputCharacters: spec.maxOutputCharacters,
    effect: spec.effect ?? traits.effect,
    check: (input) => (check ??= createCheck(traits.schema))(input),
  }
}

/** Holds the compiled meta-schema, which takes longer to compile than most schemas of tools. */
let metaAjv: Ajv | undefined

/** A `Tool.check` for a schema: a sentence with the name of the parameter (`limit must be integer`), or undefined. */
export function createCheck(schema: JsonSchema): (input: unknown) => string | undefined {
  metaAjv ??= createAjv('tolerant')
  void metaAjv.validateSchema(schema, true)
  const nodes = nodesOf(schema)
  if (findEndlessCheck(nodes, createResolve(nodes))) throw new Error('schema is invalid: it refers to itself without end')
  const validate = createAjv('toolInput').compile(schema)
  return (input) => (validate(input) ? undefined : describeSchemaError(validate.errors?.[0]))
}

/** The schema error as a sentence that names the parameter. */
export function describeSchemaError(error: ErrorObject | undefined): string {
  if (!error) return 'the input does not fit'
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const pathTo = (name: unknown) => [...path, String(name)].join('.')
  if (error.keyword === 'required') return `${pathTo(error.params['missingProperty'])} is required`
  if (error.keyword === 'additionalProperties') return `${pathTo(error.params['additionalProperty'])} is not a parameter`
  if (error.keyword === 'enum') return `${path.join('.') || 'the input'} must be one of ${error.params['allowedValues'].join(', ')}`
  return `${path.join('.') || 'the input'} ${error.message ?? 'does not fit'}`
}
