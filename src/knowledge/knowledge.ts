import { buffer } from 'node:stream/consumers'
import type { Owner } from '../access/owner.ts'
import { serviceActing, type ActingIn } from '../audit/acts.ts'
import { ServiceError } from '../errors.ts'
import { kindOf, maxDocumentBytes } from '../files/document-kind.ts'
import { readDocumentBytes, DocumentFault } from '../files/document-text.ts'
import type { Document } from '../files/document.ts'
import type { Upload } from '../uploads/upload-store.ts'
import type { NewUpload, Uploads } from '../uploads/uploads.ts'
import type { DocumentStatus, KnowledgeStore } from './knowledge-store.ts'
import { toDocumentText, toPassages, type PassageFiles } from './passages.ts'

/** A document of the tenant. */
export type KnowledgeDocument = Upload & DocumentStatus

/** The documents that the callers of a tenant share. `not_found` also covers documents of other tenants. */
export interface Knowledge {
  /** Stores a document; it is indexed in the background. Rejects like `Uploads.add`. */
  add(owner: Owner, document: Omit<NewUpload, 'isKnowledge'>): Promise<KnowledgeDocument>
  find(tenant: string, id: string): Promise<KnowledgeDocument>
  /** Newest first; `after` is the id of the last document of the page before. */
  list(tenant: string, page: { limit: number; after: string | undefined }): Promise<{ documents: KnowledgeDocument[]; hasMore: boolean }>
  /** The text of a document that is ready, without its layout. */
  text(tenant: string, id: string): Promise<string>
  remove(caller: ActingIn, id: string): Promise<void>
}

export interface KnowledgeDependencies {
  uploads: Uploads
  store: KnowledgeStore
  passages: PassageFiles
  /** Indexes new documents soon. */
  wake(): void
}

export function createKnowledge({ uploads, store, passages, wake }: KnowledgeDependencies): Knowledge {
  const scopeOf = (tenant: string) => ({ kind: 'knowledge', tenant }) as const

  async function withStates(tenant: string, found: readonly Upload[]): Promise<KnowledgeDocument[]> {
    const states = await store.statesOf(
      tenant,
      found.map(({ id }) => id),
    )
    return found.map((upload) => ({ ...upload, ...(states.get(upload.id) ?? { state: 'waiting' }) }))
  }

  async function find(tenant: string, id: string): Promise<KnowledgeDocument> {
    const [document] = await withStates(tenant, [await uploads.find(scopeOf(tenant), id)])
    return document!
  }

  return {
    async add(owner, document) {
      const upload = await uploads.add(owner, { ...document, isKnowledge: true })
      wake()
      return { ...upload, state: 'waiting' }
    },
    find,
    async list(tenant, { limit, after }) {
      const { uploads: found, hasMore } = await uploads.list(scopeOf(tenant), { limit, after, order: 'newest_first' })
      return { documents: await withStates(tenant, found), hasMore }
    },
    async text(tenant, id) {
      const { state } = await find(tenant, id)
      const sections = state === 'ready' ? await passages.load(id) : undefined
      if (!sections) throw new ServiceError('not_found', `The document ${id} has no text: its state is ${state}.`)
      return toDocumentText(sections)
    },
    remove: (caller, id) => uploads.remove(scopeOf(caller.tenant), id, caller),
  }
}

export interface IndexingDependencies {
  store: KnowledgeStore
  uploads: Pick<Uploads, 'open' | 'remove'>
  passages: PassageFiles
}

/**
 * Reads an uploaded document, stores its passages, and removes the documents that it replaces. A document that cannot be read becomes
 * `failed` with the reason. Rejects when the store cannot be reached, or no process can read the document at the moment. May be repeated.
 */
export async function indexDocument(dependencies: IndexingDependencies, tenant: string, id: string): Promise<void> {
  const { store, uploads } = dependencies
  if (await store.begin(tenant, id)) await readDocument(dependencies, tenant, id)
  // Also for a document that is ready: the process may have died before the removal.
  for (const replaced of await store.replacedBy(tenant, id)) {
    await uploads.remove({ kind: 'knowledge', tenant }, replaced, serviceActing).catch((error: unknown) => {
      if (!isMissing(error)) throw error
    })
  }
}

async function readDocument({ store, uploads, passages }: IndexingDependencies, tenant: string, id: string): Promise<void> {
  const document = await readUpload(uploads, tenant, id)
  if (!document) return
  if ('fault' in document) return store.fail(tenant, id, document.fault)
  const found = toPassages(document.sections)
  await passages.save(id, found)
  // Removed meanwhile: its bytes may be deleted already, so the passages would stay for ever.
  if (!(await store.complete(tenant, id, { metadata: document.metadata, passages: found.length }))) await passages.remove(id)
}

/** The document, or why it cannot be read; undefined when the upload is gone. */
async function readUpload(uploads: Pick<Uploads, 'open'>, tenant: string, id: string): Promise<Document | { fault: string } | undefined> {
  try {
    const { upload, content } = await uploads.open({ kind: 'knowledge', tenant }, id)
    if (content.size > maxDocumentBytes) {
      await content.close()
      return { fault: `The document has ${content.size} bytes, more than the limit of ${maxDocumentBytes}.` }
    }
    const document = await parse(upload, await buffer(content.read()))
    return 'text' in document && document.text.trim() === '' ? { fault: 'The document has no text.' } : document
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'not_found'
}

async function parse({ name }: Upload, bytes: Buffer): Promise<Document | { fault: string }> {
  return readDocumentBytes(bytes, kindOf(name, bytes)).catch((error: unknown) => {
    if (error instanceof DocumentFault) return { fault: error.message }
    throw error
  })
}
