import type { Owner } from '../access/owner.ts'
import type { WorkflowType } from '../configuration/schema.ts'

/** A specialised agent of one caller, with a purpose and a selection of the agent's tools. */
export interface SubAgent extends NewSubAgent {
  /** UUIDv7. */
  id: string
  /** The creator: the caller, or the agent in one of its runs. */
  madeBy: 'caller' | 'agent'
  /** True when the last task failed. */
  hasFailed: boolean
  /** True when a process had marked the sub-agent as busy at the time of reading. */
  isBusy: boolean
  /** Epoch milliseconds, as all times here. */
  createdAt: number
  lastActive: number
}

export interface NewSubAgent {
  name: string
  /** The purpose, as shown to the agent. */
  description: string
  /** The goal, as shown to the sub-agent itself. */
  objective: string
  /** Names of the agent's tools. */
  tools: string[]
  workflowType: WorkflowType
}

/** A process's mark that a sub-agent is busy. */
export interface BusyMark {
  holder: string
  now: number
  /** Milliseconds for which the mark is valid, unless repeated. */
  busyForMs: number
}

/** Port: the store of sub-agents. Every function works on one owner, in one transaction. */
export interface SubAgentStore {
  /** Oldest first. */
  list(caller: Owner): Promise<SubAgent[]>
  /** Adds a sub-agent. `exists`: the name is taken. `full`: there are `max` sub-agents already. */
  insert(caller: Owner, subAgent: SubAgent, max: number): Promise<'added' | 'exists' | 'full'>
  /** Removes a sub-agent; false when there was none. */
  remove(caller: Owner, id: string): Promise<boolean>
  /** Marks a sub-agent as busy; false when it no longer exists. */
  atWork(caller: Owner, id: string, mark: BusyMark): Promise<boolean>
  /**
   * Records the end of a task; `busyForMs` is the mark for tasks that still run. `hasFailed` undefined: the task was
   * stopped.
   */
  ended(caller: Owner, id: string, mark: BusyMark & { hasFailed: boolean | undefined }): Promise<void>
}
