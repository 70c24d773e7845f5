import type { Section } from '../files/document.ts'
import type { ReadyDocument } from './knowledge-store.ts'

/** Port: the documents that a tenant has uploaded, for `knowledge_search`. */
export interface TenantDocuments {
  /**
   * The best passages of the documents for which `isVisible` is true. Removed documents are not found, whatever process removed them. New
   * documents are waited for briefly. Of documents with equal content, the newest visible one is found.
   */
  search(tenant: string, query: string, options: TenantSearch): Promise<TenantResult>
}

export interface TenantSearch {
  limit: number
  isVisible(document: ReadyDocument): boolean
  signal: AbortSignal
}

export interface TenantResult {
  hits: { document: ReadyDocument; passage: Section; score: number }[]
  /** Documents that are not indexed yet. */
  waiting: number
}

/** For an agent without a service. */
export const noDocuments: TenantDocuments = { search: async () => ({ hits: [], waiting: 0 }) }
