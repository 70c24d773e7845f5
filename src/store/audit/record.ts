import type { Kysely, QueryCreator } from 'kysely'
import type { AuditEvent } from '../../audit/event.ts'
import { allSettledOrThrow, paramsOf, statement, type Connection, type Param } from '../database.ts'
import { json, toText } from '../rows.ts'
import type { AuditEventRow, Tables } from '../tables.ts'

/**
 * Stores events of a tenant within the unit of work of the act: neither is durable without the other. `wake` is called when events are stored,
 * so that the events are sealed soon after.
 */
export function createRecord(db: Kysely<Tables>, wake: () => void = () => undefined) {
  const insert = statement(db, insertEvent)
  return async (connection: Connection, tenant: string, events: readonly AuditEvent[]): Promise<void> => {
    if (events.length === 0) return
    await allSettledOrThrow(events.map((event) => insert(connection, toRow(tenant, event))))
    wake()
  }
}

type NewEvent = Omit<AuditEventRow, 'seq' | 'prev_hash' | 'hash'>

/** Compiled once: each write of a run stores two events. */
function insertEvent(db: QueryCreator<Tables>, param: Param<NewEvent>) {
  const about = ['tenant', 'id', 'at', 'issuer', 'sub', 'jti', 'via', 'action', 'target', 'outcome'] as const
  const more = ['owner', 'request_id', 'config_version', 'data', 'salt'] as const
  return db.insertInto('audit_events').values(paramsOf(param, [...about, ...more]))
}

function toRow(tenant: string, event: AuditEvent): NewEvent {
  const { id, at, actor, action, target, outcome, run, configVersion, data, salt } = event
  return {
    tenant,
    id,
    at,
    issuer: actor.issuer,
    sub: toText(actor.sub),
    jti: actor.jti ?? null,
    via: actor.via,
    action,
    target: toText(target),
    outcome,
    owner: run?.owner ?? null,
    request_id: run?.requestId ?? null,
    config_version: configVersion ?? null,
    data: json(data),
    salt: salt ?? null,
  }
}
