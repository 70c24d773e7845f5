import type { Actor, SealedEvent } from '../../audit/event.ts'
import type { SignedHead } from '../../audit/heads.ts'
import { parseJson } from '../../json/shape.ts'
import type { AuditEventRow, AuditHeadRow } from '../tables.ts'

/** The members of a `SealedEvent` in the order of the interface. `seq`: the place that the event gets or has. */
export function toSealedEvent(row: AuditEventRow, seq: number): SealedEvent {
  return {
    tenant: row.tenant,
    id: row.id,
    seq,
    at: toTime(row.at),
    actor: { issuer: row.issuer, sub: row.sub, ...(row.jti !== null && { jti: row.jti }), via: row.via as Actor['via'] },
    action: row.action,
    target: row.target,
    outcome: row.outcome,
    request_id: row.request_id,
    config_version: row.config_version,
    data: toData(row.data),
  }
}

/** Another program may have written what is no time or no JSON: then the hash is another. */
function toTime(at: number): string {
  const date = new Date(at)
  return Number.isNaN(date.getTime()) ? String(at) : date.toISOString()
}

function toData(text: string | null): SealedEvent['data'] {
  return text === null ? null : ((parseJson(text) ?? text) as SealedEvent['data'])
}

export function toHeadRow({ tenant, kind, seq, hash, at, kid, jws }: SignedHead): AuditHeadRow {
  return { tenant, kind, seq, hash, at: Date.parse(at), kid, jws }
}

export function toSignedHead({ at, ...row }: AuditHeadRow): SignedHead {
  return { ...row, at: toTime(at) }
}
