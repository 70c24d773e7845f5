/** Types and helper for tools of type `module`: `import { defineTool } from 'agent-core'`. The other export of the package is the client, `agent-core/client`. */
import type { XStatic } from 'typebox/schema'

/** The default export of a module. */
export interface ToolModule<Schema = unknown> {
  /** Description for the model: purpose of the tool, when to use it, and its result. */
  description: string
  /** JSON Schema of the input, `type: 'object'`. An input that does not fit never reaches `execute`. */
  schema: Schema
  /** True: `execute` obeys `context.filters`, and requests may filter this tool's data. Default: such a request is refused. */
  filters?: boolean
  /** `read` calls may run again after a crash and in parallel. A `write` call (the default) runs at most once, and never beside another `write`. */
  effect?: 'read' | 'write'
  /** Returns a JSON value. The message of a thrown error is shown to the model. */
  execute(input: InputOf<Schema>, context: ModuleContext): unknown
}

export interface ModuleContext {
  /** Id of the call: use it as idempotency key for requests to other services. */
  callId: string
  /** Id of the session: the caller's `session-id`, or an id of the service. Two callers may use the same `session-id`. */
  session: string
  /** Aborted when the run is cancelled or the tool's time limit is reached. The process of a call that ignores the signal is killed soon after. */
  signal: AbortSignal
  /** The caller's `stix*` headers, lower-case names. */
  headers: Readonly<Record<string, string>>
  /** Conditions that the data must fulfil, all of them. Empty without `filters: true`. A key that is missing in the data matches nothing. */
  filters: readonly ModuleFilter[]
  /** Appends a line to the log of the step, which callers can read. */
  log(text: string): void
  /** Stores a file as an artifact of the answer. Rejects when the file cannot be stored. */
  artifact(name: string, type: string, bytes: Uint8Array | ArrayBuffer | string, options?: ModuleArtifactOptions): Promise<ModuleArtifact>
}

export interface ModuleFilter {
  key: string
  /** `in`: `value` is a list separated by commas. */
  type: 'equals' | 'not_equals' | 'in' | 'contains'
  value: string
}

export interface ModuleArtifactOptions {
  /** Returns the file with the result: models with vision see an image, and clients of `/mcp` get the content. Default: the file is only stored. */
  returned?: boolean
  /** Resource URI of the file for clients of `/mcp`; only with `returned`. */
  uri?: string
}

export interface ModuleArtifact {
  id: string
  name: string
  /** MIME type. */
  type: string
  /** Bytes. */
  size: number
  /** SHA-256 of the bytes, in hex. */
  sha256: string
}

/** Type of the input, derived from a schema literal, a schema `as const`, or a TypeBox schema. */
export type InputOf<Schema> = Schema extends { type: 'object'; properties: object } ? XStatic<Schema> : Record<string, unknown>

/** Returns its argument, typed: `export default defineTool({...})`. */
export function defineTool<const Schema>(tool: ToolModule<Schema>): ToolModule<Schema> {
  return tool
}
