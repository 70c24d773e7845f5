import type { Logger } from 'pino'
import type { ArtifactBytes } from '../artifacts/artifact-store.ts'
import { indexDocument, createKnowledge, type Knowledge } from '../knowledge/knowledge.ts'
import type { KnowledgeStore, TenantDocuments } from '../knowledge/knowledge-store.ts'
import { createPassageFiles } from '../knowledge/passages.ts'
import { createTenantIndexes } from '../knowledge/tenant-indexes.ts'
import type { Jobs } from '../runs/jobs.ts'
import type { Search } from '../search/retriever.ts'
import type { Database } from '../store/database.ts'
import { createKnowledgeStore } from '../store/documents/knowledge.ts'
import type { Uploads } from '../uploads/uploads.ts'

interface DocumentsOptions {
  database: Database
  search: Search
  bytes: ArtifactBytes
  log: Logger
}

interface OpenDocuments {
  store: KnowledgeStore
  documents: TenantDocuments
}

/** Wires the search in documents of tenants, for tools. */
export function openDocuments(stack: AsyncDisposableStack, { database, search, bytes, log }: DocumentsOptions): OpenDocuments {
  const store = createKnowledgeStore(database)
  const onFault = (err: unknown) => log.warn({ err }, 'Documents of a tenant cannot be indexed')
  const passages = createPassageFiles(bytes)
  const documents = stack.adopt(createTenantIndexes({ store, passages, search, onFault }), (opened) => opened.close())
  return { store, documents }
}

interface KnowledgeOptions {
  store: KnowledgeStore
  bytes: ArtifactBytes
  uploads: Uploads
  jobs: Jobs
}

/** Documents that a process reads at the same time. Most of them wait for their parser. */
const concurrency = 2

/** Wires the documents of tenants. Each is indexed in a job, by whichever process takes it. */
export function openKnowledge({ store, bytes, uploads, jobs }: KnowledgeOptions): Knowledge {
  const passages = createPassageFiles(bytes)
  jobs.handle('knowledge_document', concurrency, async ({ tenant, data }) => {
    await indexDocument({ store, uploads, passages }, tenant, data.id)
    return { kind: 'done' }
  })
  return createKnowledge({ uploads, store, passages, wake: () => jobs.wake('knowledge_document') })
}
