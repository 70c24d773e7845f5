import type { JsonObject } from '../../agent/messages.ts'
import type { RunKey } from '../run.ts'
import type { ResumableRun } from '../run-store.ts'

/** Port: what a route repeats in later answers about a run, `ChatRequest.echo`. */
export interface EchoStore {
  /** Replaces the echo of an interrupted run; false where the run has gone on. */
  replace(run: ResumableRun, echo: JsonObject): Promise<boolean>
  /** Removes the echo of an ended run. A run that could be continued by a repeat cannot be continued any more. */
  remove(key: RunKey): Promise<void>
}
