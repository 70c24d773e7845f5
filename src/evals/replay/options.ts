import type { Owner } from '../../access/owner.ts'
import type { Agent } from '../../configuration/agent.ts'
import type { AgentConfig } from '../../configuration/schema.ts'
import type { ExecutionPorts } from '../../runs/execution/ports.ts'
import type { LoggedEvent } from '../../runs/run.ts'
import type { EndedRun } from '../../runs/run-store.ts'
import type { Example } from '../example.ts'
import type { NotedWrite, OnMiss } from './answers.ts'
import type { LiveRead } from './live.ts'
import type { ReadMedia } from './store.ts'
import type { Divergence } from './watch.ts'

export interface ReplayOptions {
  example: Example
  /** The configuration that answers. Its tools are described, never run; the owner closes the agent. */
  agent: Agent
  /** True: the replies of the models come from the recording too. */
  isRecorded?: boolean
  onMiss?: OnMiss
  /** The tools that may read for `onMiss: live`. */
  live?: ReadonlyMap<string, LiveRead>
  /** The payer of the model calls, and the caller for tools. */
  owner: Owner
  /** The request id of the replay, for spans and budgets. */
  requestId: string
  signal: AbortSignal
}

/** Ports for replays that are adapters: everything else of a replay is in memory. */
export interface ReplayPorts extends Pick<
  ExecutionPorts,
  'schemas' | 'clientTools' | 'images' | 'readTool' | 'budgets' | 'observer' | 'publicUrl'
> {
  readMedia: ReadMedia
  /** The budgets in force. Those of the variant do not count: nobody spends more with another configuration. */
  limits(): AgentConfig['budgets']
  /** True for the name of a tool that writes in the configuration in use. */
  writesInUse(tool: string): boolean
  now(): number
  newId(): string
  onFault(error: unknown): void
}

export interface Replayed {
  /** `diverged`: the replay has stopped at the divergence. `failed`: the run ended without an answer. */
  status: 'completed' | 'diverged' | 'failed'
  events: readonly LoggedEvent[]
  /** The end as the store of a run would have it. */
  ended: EndedRun
  /** The first call that the recording cannot answer; absent for none. */
  divergence?: Divergence
  /** True where a call was told that there is no recording, and the replay went on. */
  hasMissed: boolean
  /** The calls that change something, in the order in which they would have been made. */
  writes: readonly NotedWrite[]
  /** True for a call that a recorded call has answered. */
  isAnswered(callId: string): boolean
  /** True for a replay with recorded replies whose events are those of the recorded run. */
  isEqual?: boolean
}
