import type { Owner } from '../access/owner.ts'
import type { Acting } from '../audit/acts.ts'
import type { WorkflowType, AgentConfig } from '../configuration/schema.ts'
import type { Tool, ToolListing } from '../agent/tool.ts'

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
  insert(caller: Owner, subAgent: SubAgent, max: number, acting?: Acting): Promise<'added' | 'exists' | 'full'>
  /** Removes a sub-agent; false when there was none. */
  remove(caller: Owner, id: string, acting?: Acting): Promise<boolean>
  /** Marks a sub-agent as busy; false when it no longer exists. */
  atWork(caller: Owner, id: string, mark: BusyMark): Promise<boolean>
  /**
   * Records the end of a task; `busyForMs` is the mark for tasks that still run. `hasFailed` undefined: the task was
   * stopped.
   */
  ended(caller: Owner, id: string, mark: BusyMark & { hasFailed: boolean | undefined }): Promise<void>
}

/** Resolves the names in a sub-agent's list of tools: a tool, or a configured entry with all of its tools. */

type Entries = Pick<AgentConfig, 'tools'>

export function chooseTools(names: readonly string[], tools: readonly Tool[], config: Entries): Tool[] {
  const chosenNames = new Set(names)
  const entries = names.filter((name) => isEntry(name, config)).map((name) => `${name}__`)
  return tools.filter(({ name }) => chosenNames.has(name) || entries.some((prefix) => name.startsWith(prefix)))
}

/**
 * True when a name may be in the list. An entry whose server was never reached has no tool list yet, so any name of the
 * entry is accepted.
 */
export function isChoice(name: string, listings: readonly ToolListing[], config: Entries): boolean {
  if (isEntry(name, config) || listings.some((listing) => listing.name === name)) return true
  return listings.some((listing) => isUnknown(listing) && isEntry(listing.name, config) && name.startsWith(`${listing.name}__`))
}

/** True while some of the named tools are still being made. */
export function isInitializing(names: readonly string[], listings: readonly ToolListing[]): boolean {
  const making = listings.filter(({ status }) => status === 'initializing')
  return making.some((listing) => names.some((name) => name === listing.name || name.startsWith(`${listing.name}__`)))
}

export function isEntry(name: string, { tools }: Entries): boolean {
  return tools.some((entry) => entry.name === name)
}

/** An entry is listed under its own name until its tools are known. */
function isUnknown({ status }: ToolListing): boolean {
  return status !== 'ready'
}

/** Size limits of a sub-agent, in characters. Name and description stand in every prompt of the caller. */
export const subAgentLimits = {
  name: 64,
  /**
   * No space at either end, no control characters. Without look-around, which some clients' regular expressions lack.
   */
  namePattern: '^[^\\s\\u0000-\\u001f\\u007f]([^\\u0000-\\u001f\\u007f]*[^\\s\\u0000-\\u001f\\u007f])?$',
  description: 2000,
  objective: 20_000,
  tools: 100,
  /** Length of a tool's name. */
  toolName: 256,
  task: 200_000,
} as const
