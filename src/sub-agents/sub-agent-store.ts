import type { Owner } from '../access/owner.ts'
import type { WorkflowType } from '../configuration/schema.ts'

/** A specialised agent of one caller: what it is for, and which of the agent's tools it has. */
export interface SubAgent extends NewSubAgent {
  /** UUIDv7. */
  id: string
  /** The caller, or the agent in one of its runs. */
  madeBy: 'caller' | 'agent'
  /** Its last run failed. */
  hasFailed: boolean
  /** A process had it at work when this was read, as far as that one has said. */
  isBusy: boolean
  /** Epoch milliseconds, as all times here. */
  createdAt: number
  lastActive: number
}

export interface NewSubAgent {
  name: string
  /** What it is for, as the agent is told. */
  description: string
  /** Its goal, as it is told itself. */
  objective: string
  /** Names of the agent's tools. */
  tools: string[]
  workflowType: WorkflowType
}

/** Says that a process has a sub-agent at work. */
export interface BusyMark {
  holder: string
  now: number
  /** So long from now on, unless it says so again. */
  busyForMs: number
}

/** Port: where sub-agents are kept. Every function answers for one owner; each is one transaction. */
export interface SubAgentStore {
  /** Oldest first. */
  list(caller: Owner): Promise<SubAgent[]>
  /** `exists`: the name is taken. `full`: there are `max` already. */
  insert(caller: Owner, subAgent: SubAgent, max: number): Promise<'added' | 'exists' | 'full'>
  /** False when there was none. */
  remove(caller: Owner, id: string): Promise<boolean>
  /** False when it is not there any more. */
  atWork(caller: Owner, id: string, mark: BusyMark): Promise<boolean>
  /** It has ended one piece of work; with `busyForMs` of what it has beside it. `hasFailed` undefined: it was stopped. */
  ended(caller: Owner, id: string, mark: BusyMark & { hasFailed: boolean | undefined }): Promise<void>
}
