import { buffer } from 'node:stream/consumers'
import { ServiceError } from '../errors.ts'
import { kindOf, maxDocumentBytes } from '../files/document-kind.ts'
import { DocumentFault, readDocumentBytes } from '../files/document-text.ts'
import type { Document } from '../files/document.ts'
import type { Upload } from '../uploads/upload-store.ts'
import type { Uploads } from '../uploads/uploads.ts'
import type { KnowledgeStore } from './knowledge-store.ts'
import type { PassageFiles } from './passage-files.ts'
import { toPassages } from './passages.ts'

export interface IndexingDependencies {
  store: KnowledgeStore
  uploads: Pick<Uploads, 'open' | 'remove'>
  passages: PassageFiles
}

/**
 * Reads an uploaded document, stores its passages, and removes the documents that it replaces. A document that cannot be read becomes `failed` with the reason. Rejects when the store
 * cannot be reached, or no process can read the document at the moment. May be repeated.
 */
export async function indexDocument(dependencies: IndexingDependencies, tenant: string, id: string): Promise<void> {
  const { store, uploads } = dependencies
  if (await store.begin(tenant, id)) await readDocument(dependencies, tenant, id)
  // Also for a document that is ready: the process may have died before the removal.
  for (const replaced of await store.replacedBy(tenant, id)) {
    await uploads.remove({ kind: 'knowledge', tenant }, replaced).catch((error: unknown) => {
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
