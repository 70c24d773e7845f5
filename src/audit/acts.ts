import type { JsonObject } from '../agent/messages.ts'
import { actorOf, type Actor, type AuditAction, type AuditEvent, type AuditOutcome } from './event.ts'

/** The actor of an act. A principal fits. `via` is absent for a request with a key. */
export interface Acting {
  readonly issuer: string
  readonly sub: string
  readonly keyId?: string | undefined
  readonly via?: Actor['via']
}

/** The actor of an act, and the tenant of its ledger. */
export interface ActingIn extends Acting {
  readonly tenant: string
}

/** The service itself, such as for an edit of agent.yaml that a process takes over. */
export const serviceActing: Acting = { issuer: 'agent-core', sub: 'service', via: 'service' }

/** An act, as the store function that makes the change names the act. */
export interface Act {
  action: AuditAction
  target: string
  /** Default: `success`. */
  outcome?: AuditOutcome
  data?: JsonObject
  /** Default: the configuration in use. */
  configVersion?: string
  /** False: the act is not recorded. Default: the rule of the configuration in use. */
  isAudited?: boolean
}

/** Rules of the configuration in use, and dependencies of the process. */
export interface LedgerRules {
  isEnabled(): boolean
  /** Version of the configuration. */
  version(): string | undefined
  newId(): string
  /** Called when events are stored, so that the events are sealed soon after. */
  wake(): void
}

interface ActFacts {
  id: string
  /** Epoch milliseconds. */
  at: number
  /** Version of the configuration in use. */
  version: string | undefined
}

/** The event of an act. */
export function toEvent(acting: Acting, { action, target, outcome = 'success', data, configVersion }: Act, facts: ActFacts): AuditEvent {
  const { id, at } = facts
  const version = configVersion ?? facts.version
  const actor = actorOf(acting, acting.via ?? 'api')
  return { id, at, actor, action, target, outcome, ...(version !== undefined && { configVersion: version }), ...(data && { data }) }
}
