import type { ArtifactUse } from '../../agent/artifact.ts'
import type { JsonObject, JsonSchema } from '../../agent/messages.ts'
import type { ModuleArtifact, ModuleFilter } from '../../tool-module.ts'
import type { FileMark } from './file-mark.ts'

/** Messages between the service and the process of a module. Calls and their files are identified by numbers. */

/** The validated definition of a module. */
export interface ModuleDefinition {
  description: string
  schema: JsonSchema
  filters: boolean
  effect: 'read' | 'write'
}

export interface CallContext {
  callId: string
  session: string
  headers: Readonly<Record<string, string>>
  filters: readonly ModuleFilter[]
}

export type ToModule =
  | { type: 'load'; path: string }
  | { type: 'call'; call: number; input: JsonObject; context: CallContext }
  | { type: 'abort'; call: number }
  | { type: 'kept'; file: number; artifact: ModuleArtifact }
  | { type: 'refused'; file: number; message: string }

export type FromModule =
  /** Files that were loaded or not found; a change of a file reloads the module. */
  | { type: 'files'; files: FileMark[] }
  | { type: 'loaded'; definition: ModuleDefinition }
  | { type: 'failed'; message: string }
  | { type: 'log'; call: number; text: string }
  | { type: 'artifact'; call: number; file: number; name: string; mediaType: string; bytes: Uint8Array; use: ArtifactUse }
  /** Acknowledges an abort, which shows that the process is responsive. */
  | { type: 'aborted'; call: number }
  | { type: 'result'; call: number; json: string }
  | { type: 'error'; call: number; message: string }
  /** The last message: an unhandled error. */
  | { type: 'crashed'; message: string }
