import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { JsonObject } from '../agent/messages.ts'
import { canonicalJson } from '../json/canonical.ts'

/** What the ledger records, and what each action means. The list is closed. */
export const auditActions = {
  'key.created': 'An access key was made.',
  'key.revoked': 'An access key was revoked.',
  'console.signed_in': 'A person signed in to the console.',
  'console.signed_out': 'A person signed out of the console.',
  'access.denied': 'Requests of a caller were refused for lack of a permission, within one minute.',
  'configuration.changed': 'The configuration was changed.',
  'configuration.restored': 'An earlier configuration was restored.',
  'configuration.overridden': 'The configuration was changed although the change had not passed the gate.',
  'tool.accepted': 'A changed definition of a tool of an MCP server was accepted.',
  'tool.signed_in': 'The service was signed in to a tool server.',
  'tool.signed_out': 'The service was signed out of a tool server.',
  'tool.started': 'A call that writes was started.',
  'tool.ended': 'A call that writes ended, with a result or an error.',
  'tool.unknown': 'A call that writes was cut off: nobody knows whether the write was made. The call is not repeated.',
  'approval.asked': 'A call waits for a decision.',
  'approval.decided': 'A person decided on a call.',
  'containment.refused': 'A call was refused, because the run has read untrusted content.',
  'budget.overridden': 'The limit of a budget was raised or restored.',
  'schedule.created': 'A schedule was made.',
  'schedule.changed': 'A schedule was changed, paused, resumed or ended.',
  'schedule.refused': 'A schedule did not fire, because its owner lacks the rights.',
  'session.deleted': 'A session was deleted.',
  'session.message_deleted': 'A message of a session was deleted.',
  'memory.deleted': 'A memory was deleted.',
  'document.deleted': 'A document of the tenant was deleted.',
  'upload.deleted': 'A file that a caller had sent was deleted.',
  'sub_agent.created': 'A sub-agent was made.',
  'sub_agent.deleted': 'A sub-agent was deleted.',
  'experiment.created': 'An experiment was started.',
  'experiment.cancelled': 'An experiment was ended before all results.',
  'experiment.deleted': 'An ended experiment was deleted, with its results.',
  'dataset.deleted': 'A dataset was deleted, with its examples and experiments.',
  'dataset.detached': 'An example was detached from its run: the deletion of the session leaves the example.',
  'audit.read': 'The ledger was read.',
  'audit.exported': 'The ledger was exported.',
} as const

export type AuditAction = keyof typeof auditActions

/** `success`: done as asked. `error`: tried and failed. `refused`: not tried. `unknown`: nobody knows. */
export type AuditOutcome = 'success' | 'error' | 'refused' | 'unknown'

/** Who acts. `via`: the way to the service. A run acts for its owner. */
export interface Actor {
  issuer: string
  sub: string
  /** The key's `jti`, where known. */
  jti?: string
  via: 'api' | 'console' | 'cli' | 'run' | 'service'
}

/** An act. Ids, names, versions and paths alone, never content: inputs are in `data` as `hashOf` them. */
export interface AuditEvent {
  /** UUIDv7. */
  id: string
  /** Epoch milliseconds. */
  at: number
  actor: Actor
  action: AuditAction
  /** Id or name of what the act is about: `key:<jti>`, `tool:<name>`, `session:<id>` and so on. */
  target: string
  outcome: AuditOutcome
  /** The run, where the act belongs to one. Its deletion deletes the salt. */
  run?: { owner: string; requestId: string }
  /** Version of the agent's configuration. */
  configVersion?: string
  data?: JsonObject
  /** Of the hashes in `data`. Events of one call share a salt, so that their hashes can be compared. */
  salt?: string
}

/** The bearer of a key. `keyId`: the key's `jti`. */
export function actorOf({ issuer, sub, keyId }: { issuer: string; sub: string; keyId?: string | undefined }, via: Actor['via']): Actor {
  return { issuer, sub, ...(keyId !== undefined && { jti: keyId }), via }
}

export function newSalt(): string {
  return randomBytes(16).toString('hex')
}

/** HMAC-SHA-256 of the canonical JSON of an input, in hex. Without the salt nobody can try inputs. */
export function hashOf(input: unknown, salt: string): string {
  return createHmac('sha256', Buffer.from(salt, 'hex')).update(canonicalJson(input)).digest('hex')
}

/** An event as sealed, listed and exported: the member names are those of the interface. */
export interface SealedEvent {
  tenant: string
  id: string
  /** Position in the chain of the tenant, from 1, without gaps. */
  seq: number
  /** ISO 8601. */
  at: string
  actor: Actor
  action: string
  target: string
  outcome: string
  request_id: string | null
  config_version: string | null
  data: JsonObject | null
}

/** The `prev_hash` of the first event of a tenant. */
export const firstHash = '0'.repeat(64)

/** SHA-256 over the hash before and the canonical event, in hex. */
export function chainHash(previous: string, event: SealedEvent): string {
  return createHash('sha256').update(previous).update(canonicalJson(event)).digest('hex')
}
