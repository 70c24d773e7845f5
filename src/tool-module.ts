/** What a tool of type `module` is written with: `import { defineTool } from 'agent-core'`. It is all that the package exports. */
import type { XStatic } from 'typebox/schema'

/** The default export of a module. */
export interface ToolModule<Schema = unknown> {
  /** What the model is told: what the tool does, when to use it, what it gives. */
  description: string
  /** JSON Schema of the input, `type: 'object'`. What does not fit never reaches `execute`. */
  schema: Schema
  /** True: `execute` obeys `context.filters`, and requests may filter this tool's data. Default: such a request is refused. */
  filters?: boolean
  /** `read` may be called again after a crash and beside other calls; `write` (the default) at most once, and alone among the writes. */
  effect?: 'read' | 'write'
  /** Gives what JSON can say. A throw is told to the model: its message is written for the model. */
  execute(input: InputOf<Schema>, context: ModuleContext): unknown
}

export interface ModuleContext {
  /** The call's id: the idempotency key for what is done elsewhere. */
  callId: string
  /** The conversation: the caller's `session-id`, or the id that the service gave it. Two callers may use the same one. */
  session: string
  /** Aborted when the run is cancelled or the tool's time is up. Soon after, a call that goes on is ended with its process. */
  signal: AbortSignal
  /** The caller's `stix*` headers, lower-case names. */
  headers: Readonly<Record<string, string>>
  /** What the data must fulfil, all of them; empty without `filters: true`. A key that the data doesn't have matches nothing. */
  filters: readonly ModuleFilter[]
  /** Appends a line to the step's log, which callers see. */
  log(text: string): void
  /** Keeps a file, which becomes part of the answer. Rejects where it can't be kept. */
  artifact(name: string, type: string, bytes: Uint8Array | ArrayBuffer | string, options?: ModuleArtifactOptions): Promise<ModuleArtifact>
}

export interface ModuleFilter {
  key: string
  /** `in`: one of the values, which commas separate. */
  type: 'equals' | 'not_equals' | 'in' | 'contains'
  value: string
}

export interface ModuleArtifactOptions {
  /** The file is part of the result: a model that sees is shown a picture, and clients of `/mcp` get the content. Default: it is kept alone. */
  returned?: boolean
  /** Names the file as a resource of its own for clients of `/mcp`; only with `returned`. */
  uri?: string
}

export interface ModuleArtifact {
  id: string
  name: string
  /** MIME type. */
  type: string
  /** Bytes. */
  size: number
  /** Of the bytes, hex. */
  sha256: string
}

/** The input's type, from a schema that is written in its place, `as const`, or with TypeBox. */
export type InputOf<Schema> = Schema extends { type: 'object'; properties: object } ? XStatic<Schema> : Record<string, unknown>

/** Gives back what it gets, with its types: `export default defineTool({...})`. */
export function defineTool<const Schema>(tool: ToolModule<Schema>): ToolModule<Schema> {
  return tool
}
