import { parseJson } from '../json/shape.ts'
import { canonicalJson } from '../json/canonical.ts'
import type { SignedHead } from './heads.ts'
import type { ChainedEvent, LedgerRange, LedgerSource, Link } from './ledger-source.ts'

/**
 * The export of the ledger: newline-delimited JSON, each line in the canonical form of RFC 8785.
 *
 * - `{"type":"event", tenant, id, seq, at, actor, action, target, outcome, request_id, config_version, data, prev_hash, hash}`: a sealed event.
 *   `hash` is the SHA-256, in hex, of the text of `prev_hash` followed by the canonical JSON of all members but `type`, `prev_hash` and `hash`.
 *   `prev_hash` is the hash of the event before; 64 zeros for the first of a tenant.
 * - `{"type":"head", tenant, seq, hash, at, jws}`: a signed position, behind the event of this number. `jws` is a JWS in compact form, signed with
 *   Ed25519, whose payload has the other members and whose header has `kid` and the `typ` "audit-head".
 * - `{"type":"cut", ...}`: as a head, with the `typ` "audit-cut": retention has removed all events up to this number. The next event follows.
 *
 * Tenants follow each other; the events of a tenant are in the order of `seq`, without gaps. An export of a time begins and ends within a chain.
 */
export type LedgerLine = ({ type: 'event' } & ChainedEvent) | ({ type: 'head' | 'cut' } & Omit<SignedHead, 'kind' | 'kid'>)

/** A line of the export, without its end. */
export function toLine(link: Link): string {
  if ('event' in link) return canonicalJson({ type: 'event', ...link.event })
  const { kind, tenant, seq, hash, at, jws } = link.head
  return canonicalJson({ type: kind, tenant, seq, hash, at, jws })
}

/** Characters of a line, at most: an event has names and hashes. */
export const maxLineLength = 1_048_576

/** The link of a line. Throws where the line is none: a line has one form, so that two readers cannot read two things. */
export function parseLine(line: string): Link {
  const value = line.length > maxLineLength ? undefined : parseJson(line)
  if (!isLine(value)) throw new Error('the line is no event and no head')
  const { type, ...rest } = value
  if (type === 'event') return { event: rest as ChainedEvent }
  return { head: { ...(rest as Omit<SignedHead, 'kind'>), kind: type } }
}

const membersOf = {
  event: 'action actor at config_version data hash id outcome prev_hash request_id seq target tenant type',
  head: 'at hash jws seq tenant type',
}

function isLine(value: unknown): value is LedgerLine {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const line = value as Partial<LedgerLine>
  const members = Object.keys(line).sort().join(' ')
  const names = line.type === 'event' ? membersOf.event : membersOf.head
  const texts = [line.tenant, line.hash, line.at, line.type === 'event' ? line.prev_hash : (line as { jws?: unknown }).jws]
  const isKnown = line.type === 'event' || line.type === 'head' || line.type === 'cut'
  return isKnown && members === names && Number.isSafeInteger(line.seq) && texts.every((text) => typeof text === 'string')
}

/** The lines of an export, with their ends: of one tenant, or of all tenants. */
export async function* exportLines(
  source: LedgerSource,
  { tenant, ...range }: LedgerRange & { tenant?: string | undefined },
): AsyncGenerator<string, void> {
  for (const name of tenant === undefined ? await source.tenants() : [tenant]) {
    for await (const link of (await source.open(name, range)).links) yield `${toLine(link)}\n`
  }
}
