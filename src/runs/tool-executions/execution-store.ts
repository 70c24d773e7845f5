import type { Artifact, ReturnedFile } from '../../agent/artifact.ts'
import type { JsonValue } from '../../agent/messages.ts'
import type { RunKey } from '../run.ts'

/** Port: direct executions of tools that came with a request id of their caller's, so that a repeat runs nothing twice. */
export interface ExecutionStore {
  /** Answers with the one that has the request id, if there is one; stores this one else. Throws `gone` for one whose session was deleted. */
  begin(execution: NewExecution): Promise<StoredExecution | undefined>
  find(key: RunKey): Promise<StoredExecution | undefined>
  /** Gives one that has no result to the local process, with the next fence; false where it has changed since it was read. */
  takeOver(key: RunKey, fence: number, holder: string): Promise<boolean>
  /** Keeps the first result; undefined: it was cut off, and has none. Nothing where the session was deleted, or it is another process's. */
  finish(key: RunKey, fence: number, result: ExecutionResult | undefined, now: number): Promise<void>
  /** Ends those whose process is lost for more than `graceMs`; they have no result. */
  endLost(holder: string, graceMs: number, now: number): Promise<void>
}

export interface NewExecution extends RunKey {
  sessionId: string
  bodyHash: string
  holder: string
  agent: string
  now: number
}

export interface StoredExecution {
  operation: string
  sessionId: string
  bodyHash: string
  /** The process in which it runs, as far as is known; undefined where it has ended. */
  holder: string | undefined
  fence: number
  /** Undefined while it runs, and for ever where its process died. */
  result: ExecutionResult | undefined
}

/** How a direct execution ended. */
export interface ExecutionResult {
  tool_name: string
  output: JsonValue
  /** Seconds. */
  execution_time: number
  status: 'success' | 'error'
  /** Files that the tool made, and the folder that they are kept under; absent for none. */
  files?: { folder: string; made: Artifact[]; returned?: ReturnedFile[] }
}
