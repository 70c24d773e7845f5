import type { Kysely } from 'kysely'
import type { AuditEvent } from '../../audit/event.ts'
import { query, type Connection, type SyncConnection } from '../database.ts'
import { json, toText } from '../rows.ts'
import type { AuditEventRow, Tables } from '../tables.ts'

/**
 * Stores events of a tenant within the unit of work of the act: neither is durable without the other. `wake` is called when events are stored,
 * so that the events are sealed soon after.
 */
export function createRecord(db: Kysely<Tables>, wake: () => void = () => undefined) {
  return async (connection: Connection, tenant: string, events: readonly AuditEvent[]): Promise<void> => {
    if (events.length === 0) return
    await query(connection, db.insertInto('audit_events').values(events.map((event) => toRow(tenant, event))))
    wake()
  }
}

/** `createRecord`, for units of work that run all of their statements at once. */
export function createRecordAtOnce(db: Kysely<Tables>, wake: () => void = () => undefined) {
  return (connection: SyncConnection, tenant: string, events: readonly AuditEvent[]): void => {
    if (events.length === 0) return
    const { sql, parameters } = db
      .insertInto('audit_events')
      .values(events.map((event) => toRow(tenant, event)))
      .compile()
    connection.change(sql, parameters)
    wake()
  }
}

function toRow(tenant: string, event: AuditEvent): AuditEventRow {
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
    seq: null,
    prev_hash: null,
    hash: null,
  }
}
