import type { Owner } from '../access/owner.ts'
import { ServiceError } from '../errors.ts'
import type { Upload } from '../uploads/upload-store.ts'
import type { NewUpload, Uploads } from '../uploads/uploads.ts'
import type { DocumentStatus, KnowledgeStore } from './knowledge-store.ts'
import type { PassageFiles } from './passage-files.ts'

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
  remove(tenant: string, id: string): Promise<void>
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
      return sections
        .map(({ heading, text }, at) => (heading && heading !== sections[at - 1]?.heading ? `${heading}\n\n${text}` : text))
        .join('\n\n')
    },
    remove: (tenant, id) => uploads.remove(scopeOf(tenant), id),
  }
}
