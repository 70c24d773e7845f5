import path from 'node:path'
import type { Logger } from 'pino'
import type { SigningKey } from '../access/keys.ts'
import { createArtifacts, type Artifacts, type ArtifactsDependencies } from '../artifacts/artifacts.ts'
import type { ArtifactLimits } from '../artifacts/keep.ts'
import { directFolderOf, sweepArtifacts } from '../artifacts/sweep.ts'
import type { Agent, CurrentAgent } from '../configuration/agent.ts'
import type { ExecutionFiles } from '../runs/executions/direct-execution.ts'
import type { Execution } from '../runs/execute.ts'
import type { Settings } from '../settings.ts'
import { createArtifactFiles } from '../store/artifact-files.ts'
import type { Database } from '../store/database.ts'
import { existingSessions } from '../store/sessions.ts'
import { createShareFolder } from '../store/share-folder.ts'

interface ArtifactOptions extends Omit<ArtifactsDependencies, 'bytes' | 'shareFolder' | 'secret' | 'onFault'> {
  agent: CurrentAgent
  database: Database
  settings: Settings
  signing: SigningKey
  log: Logger
}

interface OpenArtifacts extends Pick<Execution, 'keeper'> {
  artifacts: Artifacts
  executionFiles: ExecutionFiles
}

const sweepEveryMs = 3_600_000

/** Wires the files that tools make: kept, handed out, and removed when what they belong to is gone. */
export function openArtifacts(stack: AsyncDisposableStack, options: ArtifactOptions): OpenArtifacts {
  const { agent, database, settings, signing, log, now, newId } = options
  const bytes = createArtifactFiles(path.join(settings.dataDir, 'artifacts'))
  const onFault = (err: unknown) => log.error({ err }, 'artifacts')
  const shareFolder = createShareFolder(settings.artifactShareDir)
  const artifacts = createArtifacts({ ...options, bytes, shareFolder, secret: signing.derive('artifact links'), onFault })
  const sweep = () => void sweepArtifacts({ bytes, existing: (keys) => existingSessions(database, keys), now }).catch(onFault)
  stack.adopt(setInterval(sweep, sweepEveryMs).unref(), clearInterval)
  sweep()
  return {
    artifacts,
    keeper: (run, folder, earlier) => artifacts.keeper({ folder, limits: limitsOf(run.agent), earlier }),
    executionFiles: {
      open() {
        const folder = directFolderOf(newId())
        return { folder, keep: artifacts.keeper({ folder, limits: limitsOf(agent()), earlier: [] }) }
      },
      link: artifacts.linkTo,
    },
  }
}

function limitsOf({ config: { limits } }: Agent): ArtifactLimits {
  return { file: limits.max_artifact_bytes, files: limits.max_run_artifacts, total: limits.max_run_artifact_bytes }
}
