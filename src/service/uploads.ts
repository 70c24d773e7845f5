import type { Logger } from 'pino'
import type { ArtifactBytes } from '../artifacts/artifact-store.ts'
import type { CurrentAgent } from '../configuration/agent.ts'
import type { Jobs } from '../runs/jobs.ts'
import type { Database } from '../store/database.ts'
import { createUploadStore } from '../store/documents/uploads.ts'
import type { UploadStore } from '../uploads/upload-store.ts'
import { createUploads, type Uploads } from '../uploads/uploads.ts'

interface UploadOptions {
  agent: CurrentAgent
  bytes: ArtifactBytes
  database: Database
  jobs: Jobs
  now(): number
  newId(): string
  log: Logger
}

/** Wires files that callers send. The bytes of a removed upload are deleted in a job, which survives a crash. */
export function openUploads({ agent, bytes, database, jobs, now, newId, log }: UploadOptions): {
  uploads: Uploads
  uploadStore: UploadStore
} {
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
