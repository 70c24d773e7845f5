import type { SealedEvent } from './event.ts'

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

/** A signed position in the chain. `cut`: events up to here were removed by retention. */
export interface AuditHead {
  seq: number
  kind: 'head' | 'cut'
  hash: string
  at: string
  kid: string
  jws: string
}

export interface HeadPosition {
  seq: number
  kind: string
}

/** A line of an export: an event with its place in the chain, or a head, which follows the event that it signs. */
export type ExportLine = ({ type: 'event'; prev_hash: string; hash: string } & SealedEvent) | ({ type: 'head' } & AuditHead)

/** Port: reads the ledger of a tenant. */
export interface AuditReader {
  /** Newest first. A page reads a limited number of events, so that a rare filter may leave the page short while `has_more` is true. */
  list(tenant: string, page: AuditPage): Promise<AuditList>
  /** Newest first, at most `limit`. */
  heads(tenant: string, page: { limit: number; before: HeadPosition | undefined }): Promise<AuditHead[]>
  /** Sealed events without a gap, in the order of the chain, with the heads in between. The iteration reads one page at a time. */
  export(tenant: string, span: Pick<AuditFilters, 'since' | 'until'>): AsyncGenerator<ExportLine[], void>
}
