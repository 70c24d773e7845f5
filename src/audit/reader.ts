import type { SealedEvent } from './event.ts'
import type { SignedHead } from './heads.ts'

/** Undefined filters select every event. */
export interface AuditFilters {
  action: string | undefined
  /** A `sub`, `<issuer> <sub>`, or the `jti` of a key. */
  actor: string | undefined
  target: string | undefined
  requestId: string | undefined
  /** Epoch milliseconds: `since` inclusive, `until` exclusive. */
  since: number | undefined
  until: number | undefined
}

/** Events are ordered by id. */
export interface AuditPage extends AuditFilters {
  limit: number
  /** The id at the end of the page before. */
  before: string | undefined
}

/** An event in a list. The fields of the seal are null until the event is sealed, which takes a second. */
export type ListedEvent = Omit<SealedEvent, 'tenant' | 'seq'> & { seq: number | null; hash: string | null }

export interface AuditList {
  events: ListedEvent[]
  /** `before` of the next page; empty without one. */
  offset: string
  has_more: boolean
}

export interface HeadPosition {
  seq: number
  kind: string
}

/** Port: lists the ledger of a tenant. */
export interface AuditReader {
  /** Newest first. A page reads a limited number of events, so that a rare filter may leave the page short while `has_more` is true. */
  list(tenant: string, page: AuditPage): Promise<AuditList>
  /** Newest first, at most `limit`. */
  heads(tenant: string, page: { limit: number; before: HeadPosition | undefined }): Promise<SignedHead[]>
}
