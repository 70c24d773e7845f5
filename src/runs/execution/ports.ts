import type { Artifact, KeepArtifact } from '../../agent/artifact.ts'
import type { Tool } from '../../agent/tool.ts'
import type { Images } from '../../files/images.ts'
import type { SubAgents } from '../../sub-agents/sub-agents.ts'
import type { Attachments } from '../attachments/attachments.ts'
import type { Jobs } from '../jobs.ts'
import type { LiveRun } from '../ownership/live-run.ts'
import type { RunObserver } from '../run-observer.ts'
import type { RunStore } from '../run-store.ts'

/** The ports that the execution of a run needs, from its turn to its stored end. */
export interface RunPorts {
  store: RunStore
  /** Id of the local process. */
  holder: string
  /** Woken when a run has ended with jobs. */
  jobs: Pick<Jobs, 'wake'>
  now(): number
  newId(): string
  attachments: Attachments
  /** Scales pictures that tools return to a size that models accept. */
  images: Pick<Images, 'fromBytes'>
  /** A tool of this name that reads these files and no others. */
  readTool(name: string, files: readonly string[]): Tool
  /** Keeps files that the run's tools make. `session` is the session's key, `earlier` are artifacts of the run before another process took the run over. */
  keeper(run: LiveRun, session: string, earlier: readonly Artifact[]): KeepArtifact
  /** Memories of the run's caller, to be put before the question; undefined where the caller has none. Never throws. */
  recall(run: LiveRun): Promise<string | undefined> | undefined
  subAgents: SubAgents
  /** Absent where runs are neither traced nor measured. */
  observer?: RunObserver | undefined
  /** Called for an internal error; the caller does not see the error. */
  onFault(run: LiveRun, error: unknown): void
}
