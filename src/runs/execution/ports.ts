import type { RecalledMemories } from '../../memory/recall.ts'
import type { Owner } from '../../access/owner.ts'
import type { Pace } from '../../agent/options.ts'
import type { Tool } from '../../agent/tool.ts'
import type { Artifact, KeepArtifact, JsonSchema } from '../../agent/messages.ts'
import type { ClientTool } from '../../agent/run-tool.ts'
import type { Images } from '../../files/images.ts'
import type { SchemaFault } from '../../json/schema/answer-schema.ts'
import type { SubAgents } from '../../sub-agents/sub-agents.ts'
import type { Budgets } from '../../budgets/budgets.ts'
import type { Attachments } from '../attachments/attachments.ts'
import type { Jobs } from '../jobs.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import type { RunObserver } from '../run-observer.ts'
import type { ExecutionStore, RunStore } from '../run-store.ts'
import type { ClientWaits } from './client-waits.ts'

/** The ports that the execution of a run needs, from its turn to its stored end. */
export interface ExecutionPorts {
  store: ExecutionStore
  /** Id of the local process. */
  holder: string
  /** Woken when a run has ended with jobs. */
  jobs: Pick<Jobs, 'wake'>
  now(): number
  newId(): string
  /** The address of the service for clients. */
  publicUrl(): string
  attachments: Attachments
  /** Scales pictures that tools return to a size that models accept. */
  images: Pick<Images, 'fromBytes'>
  /** A tool of the given name that reads only the given files. */
  readTool(name: string, files: readonly string[]): Tool
  clientTools: ClientTools
  schemas: CallerSchemas
  clientWaits: ClientWaits
  /** Keeps files that the run's tools make. `session` is the session's key, `earlier` are artifacts of the run before another process took the run over. */
  keeper(run: LiveRun, session: string, earlier: readonly Artifact[]): KeepArtifact
  /** Memories of the run's caller, to be put before the question; undefined where the caller has none. Never throws. */
  recall(run: LiveRun): Promise<RecalledMemories | undefined> | undefined
  subAgents: SubAgents
  budgets: Budgets
  /** Absent where runs are neither traced nor measured. */
  observer?: RunObserver | undefined
  /** Absent: calls start and end as they come. */
  pace?: Pace
  /** Called for an internal error; the caller does not see the error. */
  onFault(run: LiveRun, error: unknown): void
}

/** The ports that the life of a run needs. */
export interface RunPorts extends ExecutionPorts {
  store: RunStore
}

/** What a schema of a caller describes: the answer of a run, or the input of a client tool. */
export type SchemaUse = 'answer' | 'input'

/**
 * Port: checks schemas of callers, and values against them, without holding up other requests. Throws a `ServiceError` `overloaded` for a
 * caller with too many waiting checks.
 */
export interface CallerSchemas {
  /** Why a schema cannot be used; undefined for a usable one. */
  faultOf(use: SchemaUse, schema: JsonSchema, caller: Owner): Promise<SchemaFault | undefined>
  /** The faults of a value as clauses, such as `/items/0/price must be number`; empty for a valid value. */
  faultsOf(use: SchemaUse, schema: JsonSchema, value: unknown, caller: Owner): Promise<string[]>
}

/** Port: makes tools of the loop from tools of the client. */
export interface ClientTools {
  /** Why the schema of a tool cannot be used, as a clause; undefined for a usable one. */
  faultOf(tool: ClientTool, caller: Owner): Promise<string | undefined>
  create(tools: readonly ClientTool[], caller: Owner): Tool[]
}
