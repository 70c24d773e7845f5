import type { Artifact } from '../../agent/artifact.ts'
import type { JsonValue } from '../../agent/messages.ts'
import type { RunKey } from '../run.ts'

/** Port: direct executions of tools that came with a request id of their caller's, so that a repeat runs nothing twice. */
export interface ExecutionStore {
  /** Answers with the one that has the request id, if there is one; stores this one else. Throws `gone` for one whose session was deleted. */
  begin(execution: NewExecution): Promise<StoredExecution | undefined>
  /** Keeps the first result; none where the session was deleted meanwhile. */
  finish(key: RunKey, result: ExecutionResult, now: number): Promise<void>
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
  files?: { folder: string; made: Artifact[] }
}
