import type { ArtifactUse } from '../../agent/artifact.ts'
import type { JsonObject, JsonSchema } from '../../agent/messages.ts'
import type { ModuleArtifact, ModuleFilter } from '../../tool-module.ts'
import type { FileMark } from './file-mark.ts'

/** What the service and the process of a module tell each other. Calls, and the files made in them, have numbers. */

/** What a module says of its tool, checked. */
export interface Definition {
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
  /** Files that were loaded, or looked for in vain: a change of one changes the tool. */
  | { type: 'files'; files: FileMark[] }
  | { type: 'loaded'; definition: Definition }
  | { type: 'failed'; message: string }
  | { type: 'log'; call: number; text: string }
  | { type: 'artifact'; call: number; file: number; name: string; mediaType: string; bytes: Uint8Array; use: ArtifactUse }
  /** The abort has arrived: the process can still be spoken to. */
  | { type: 'aborted'; call: number }
  | { type: 'result'; call: number; json: string }
  | { type: 'error'; call: number; message: string }
  /** The last message: an error that no call has caught. */
  | { type: 'crashed'; message: string }
