import type { SignedHead, StoredEnd } from './heads.ts'
import type { SealedEvent } from './event.ts'

/** Port: the stored ledger. */
export interface LedgerSource {
  /** Tenants with events, heads or a chain. */
  tenants(): Promise<string[]>
  /** The events and heads of a tenant that are stored now, in the order of an export. */
  open(tenant: string, range?: LedgerRange): Promise<StoredLedger>
  /** Number of events without a place in the chain, of a tenant or of all. */
  countUnsealed(tenant?: string): Promise<number>
}

/** Times in epoch milliseconds. A part of a chain: from the first event at `since` or later to the last before the first at `until` or later. */
export interface LedgerRange {
  since?: number | undefined
  until?: number | undefined
}

export interface StoredLedger {
  links: AsyncIterable<Link>
  /** The end that the service has stored, as of the opening. */
  end: StoredEnd | undefined
  /** The last event that retention has removed. */
  cut: number
}

/** An event with its place in the chain. */
export interface ChainedEvent extends SealedEvent {
  prev_hash: string
  hash: string
}

/** What a chain is made of, in order. */
export type Link = { event: ChainedEvent } | { head: SignedHead }
