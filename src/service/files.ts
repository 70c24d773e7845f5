import path from 'node:path'
import type { Logger } from 'pino'
import type { SigningKeys } from '../access/keys/signing-keys.ts'
import { createArtifacts, type Artifacts, type ArtifactsDependencies } from '../artifacts/artifacts.ts'
import type { ArtifactLimits } from '../artifacts/keep.ts'
import type { ArtifactBytes } from '../artifacts/artifact-store.ts'
import { directFolderOf, sweepArtifacts } from '../artifacts/sweep.ts'
import type { Agent, CurrentAgent } from '../configuration/agent.ts'
import { createContextFiles } from '../files/context-files.ts'
import type { FilesRoot } from '../files/root.ts'
import type { ExecutionFiles } from '../runs/tool-executions/tool-execution.ts'
import type { RunPorts } from '../runs/execution/ports.ts'
import type { Jobs } from '../runs/jobs.ts'
import type { Settings } from '../settings/settings.ts'
import { createArtifactFiles } from '../store/disk/artifact-files.ts'
import type { Database } from '../store/database.ts'
import { createArtifactStore } from '../store/sessions/artifacts.ts'
import { existingSessions } from '../store/sessions/sessions.ts'
import { existingUploads, createUploadStore } from '../store/documents/uploads.ts'
import { createShareFolder } from '../store/disk/share-folder.ts'
import { uploadFolderOf, uploadIdOf, createUploads, type Uploads } from '../uploads/uploads.ts'
import type { KnowledgeStore } from '../knowledge/knowledge-store.ts'
import { createKnowledge, indexDocument, type Knowledge } from '../knowledge/knowledge.ts'
import { createPassageFiles } from '../knowledge/passages.ts'

interface ArtifactOptions extends Omit<ArtifactsDependencies, 'store' | 'shareFolder' | 'secrets' | 'onFault'> {
  agent: CurrentAgent
  database: Database
  jobs: Jobs
  settings: Settings
  signing: SigningKeys
  log: Logger
}

interface FileOptions extends ArtifactOptions {
  knowledgeStore: KnowledgeStore
  root: FilesRoot
}

/** Wires the files of tools, of callers and of tenants. */
export async function openFiles(stack: AsyncDisposableStack, { knowledgeStore, root, ...options }: FileOptions) {
  const { artifacts, ...ofRuns } = await openArtifacts(stack, options)
  const { uploads, uploadStore } = openUploads(options)
  const knowledge = openKnowledge({ ...options, store: knowledgeStore, uploads })
  return { ...ofRuns, uploadStore, services: { artifacts, contextFiles: createContextFiles(root), knowledge, uploads } }
}

interface OpenArtifacts extends Pick<RunPorts, 'keeper'> {
  artifacts: Artifacts
  executionFiles: ExecutionFiles
}

const sweepEveryMs = 3_600_000

/** Wires files made by tools: stored, served, and removed together with their session. */
async function openArtifacts(stack: AsyncDisposableStack, options: ArtifactOptions): Promise<OpenArtifacts> {
  const { agent, bytes, settings, signing, log, newId } = options
  const onFault = (err: unknown) => log.error({ err }, 'artifacts')
  const shareFolder = createShareFolder(settings.artifactShareDir)
  const secrets = () => signing.all().map((key) => key.derive('artifact links'))
  const store = createArtifactStore(options.database)
  const artifacts = createArtifacts({ ...options, store, shareFolder, secrets, onFault })
  await keepSwept(stack, bytes, { ...options, onFault })
  return {
    artifacts,
    keeper: (run, folder, earlier) => artifacts.keeper({ folder, limits: limitsOf(run.agent), earlier }),
    executionFiles: {
      open() {
        const folder = directFolderOf(newId())
        return { folder, keep: artifacts.keeper({ folder, limits: limitsOf(agent()), earlier: [] }) }
      },
      toAnswerFiles: artifacts.toAnswerFiles,
      read: artifacts.read,
    },
  }
}

/** Opens the store of bytes of artifacts and uploads: a folder, or a bucket. */
export async function openBytes(stack: AsyncDisposableStack, { artifactStore, dataDir }: Settings): Promise<ArtifactBytes> {
  if (!artifactStore) return createArtifactFiles(path.join(dataDir, 'artifacts'))
  const [{ createArtifactBucket }, { checkBucket }] = await Promise.all([
    import('../store/s3/artifacts.ts'),
    import('../store/s3/check.ts'),
  ])
  await checkBucket(artifactStore)
  return stack.adopt(createArtifactBucket(artifactStore), (bucket) => bucket.close())
}

interface SweepOptions extends Pick<ArtifactOptions, 'database' | 'jobs' | 'settings' | 'now'> {
  onFault(error: unknown): void
}

/** Sweeps regularly: every process its own folder, or a single process the shared store. */
async function keepSwept(stack: AsyncDisposableStack, bytes: ArtifactBytes, options: SweepOptions): Promise<void> {
  const { database, jobs, settings, now, onFault } = options
  const sweep = async () => {
    await sweepArtifacts({ bytes, existing: (folders) => existingFolders(database, folders), now }).catch(onFault)
  }
  if (!settings.artifactStore) {
    stack.adopt(setInterval(() => void sweep(), sweepEveryMs).unref(), clearInterval)
    return void sweep()
  }
  jobs.handle('artifact_sweep', 1, async () => {
    await sweep()
    return { kind: 'again', at: now() + sweepEveryMs }
  })
  await jobs.add([{ id: 'artifact_sweep', kind: 'artifact_sweep', tenant: settings.adminTenant, data: {}, dueAt: now() }])
}

async function existingFolders(database: Database, folders: readonly string[]): Promise<Set<string>> {
  const uploadIds = folders.map(uploadIdOf).filter((id) => id !== undefined)
  const sessionKeys = folders.filter((folder) => uploadIdOf(folder) === undefined)
  const [sessions, uploads] = await Promise.all([existingSessions(database, sessionKeys), existingUploads(database, uploadIds)])
  return new Set([...sessions, ...[...uploads].map(uploadFolderOf)])
}

function limitsOf({ config: { limits } }: Agent): ArtifactLimits {
  return { file: limits.max_artifact_bytes, files: limits.max_run_artifacts, total: limits.max_run_artifact_bytes }
}

type UploadOptions = Pick<ArtifactOptions, 'agent' | 'bytes' | 'database' | 'jobs' | 'now' | 'newId' | 'log'>

/** Wires files that callers send. The bytes of a removed upload are deleted in a job, which survives a crash. */
function openUploads({ agent, bytes, database, jobs, now, newId, log }: UploadOptions) {
  const uploadStore = createUploadStore(database)
  const uploads = createUploads({
    bytes,
    store: uploadStore,
    limits() {
      const { limits } = agent().config
      return {
        fileBytes: limits.max_upload_bytes,
        ownerBytes: limits.max_owner_upload_bytes,
        tenantBytes: limits.max_tenant_upload_bytes,
      }
    },
    wake: () => jobs.wake('upload_deleted'),
    now,
    newId,
    onFault: (err) => log.error({ err }, 'uploads'),
  })
  jobs.handle('upload_deleted', 1, async ({ data }) => {
    await uploads.deleteBytes(data.id)
    return { kind: 'done' }
  })
  return { uploads, uploadStore }
}

interface KnowledgeOptions extends Pick<ArtifactOptions, 'bytes' | 'jobs'> {
  store: KnowledgeStore
  uploads: Uploads
}

/** Documents that a process reads at the same time. Most of them wait for their parser. */
const concurrency = 2

/** Wires the documents of tenants. Each is indexed in a job, by whichever process takes it. */
function openKnowledge({ store, bytes, uploads, jobs }: KnowledgeOptions): Knowledge {
  const passages = createPassageFiles(bytes)
  jobs.handle('knowledge_document', concurrency, async ({ tenant, data }) => {
    await indexDocument({ store, uploads, passages }, tenant, data.id)
    return { kind: 'done' }
  })
  return createKnowledge({ uploads, store, passages, wake: () => jobs.wake('knowledge_document') })
}
