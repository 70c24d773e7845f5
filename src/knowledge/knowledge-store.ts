import type { ModelMeter } from '../agent/model.ts'
import type { Metadata, Section } from '../files/document.ts'

/** `waiting` and `indexing` documents are not searched yet, `failed` ones never. */
export type DocumentState = 'waiting' | 'indexing' | 'ready' | 'failed'

export interface DocumentStatus {
  state: DocumentState
  /** Present with the state `failed`. */
  error?: string
  /** Number of passages. Present with the state `ready`, except for documents of earlier versions. */
  passages?: number
}

/** A document that can be searched. */
export interface ReadyDocument {
  /** Id of the upload. */
  id: string
  name: string
  /** Hash of the content. */
  version: string
  /** Front matter, or properties of the file. */
  metadata: Metadata
  /** Of the tenant when the document became ready. */
  revision: number
}

/** What has changed of the documents of a tenant. */
export interface Changes {
  /** Grows with each document that becomes ready; 0: none ever did. */
  revision: number
  /** Grows with each removal. */
  removals: number
  /** Documents in the states `waiting` and `indexing`. */
  unfinished: number
}

/**
 * Port: the states of the documents uploaded by tenants. `UploadStore` adds a document, with a job, when the upload is complete, and
 * removes the document with the upload.
 */
export interface KnowledgeStore {
  statesOf(tenant: string, ids: readonly string[]): Promise<Map<string, DocumentStatus>>
  /** Sets the state `indexing`. False when the document is gone, ready or failed. */
  begin(tenant: string, id: string): Promise<boolean>
  /** Sets the state `ready`. False when the document is gone. */
  complete(tenant: string, id: string, content: { metadata: Metadata; passages: number }): Promise<boolean>
  fail(tenant: string, id: string, error: string): Promise<void>
  changes(tenant: string): Promise<Changes>
  /** Ready documents with a later revision than `after`, in the order of revisions. */
  readyAfter(tenant: string, after: number, limit: number): Promise<ReadyDocument[]>
  /** Number of these documents. */
  countAfter(tenant: string, after: number): Promise<number>
  /** Ids of earlier documents of the same name, if the document is ready and was added to replace them. */
  replacedBy(tenant: string, id: string): Promise<string[]>
  /** Ids of all documents of the tenant. */
  ids(tenant: string): Promise<Set<string>>
  /** Numbers of documents of all tenants by state. */
  counts(): Promise<Map<DocumentState, number>>
}

/** Port: the documents that a tenant has uploaded, for `knowledge_search`. */
export interface TenantDocuments {
  /**
   * The best passages of the documents for which `isVisible` is true. Removed documents are not found, whatever process removed them. New
   * documents are waited for briefly. Of documents with equal content, the newest visible one is found.
   */
  search(tenant: string, query: string, options: TenantSearch): Promise<TenantResult>
  /** Reads a document that a search finds; undefined for another id. */
  read(tenant: string, id: string): Promise<{ document: ReadyDocument; passages: Section[] } | undefined>
}

export interface TenantSearch {
  limit: number
  isVisible(document: ReadyDocument): boolean
  signal: AbortSignal
  /** Pays for the vector of the query; absent: the tenant. */
  meter?: ModelMeter | undefined
}

export interface TenantResult {
  hits: { document: ReadyDocument; passage: Section; score: number }[]
  /** Documents that are not indexed yet. */
  waiting: number
}

/** For an agent without a service. */
export const noDocuments: TenantDocuments = { search: async () => ({ hits: [], waiting: 0 }), read: async () => undefined }
