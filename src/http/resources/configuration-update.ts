import type { FastifyRequest } from 'fastify'
import type { Type } from 'typebox'
import type { ConfigurationUpdate, UpdatedConfiguration } from '../../configuration/configuration.ts'
import { principalOf } from '../server/authenticate.ts'
import type { UpdatedConfiguration as UpdatedReply } from './configuration-schemas.ts'

/** The caller, as the history of the configuration names it, and what the caller may grant. */
export function requesterOf(request: FastifyRequest): Pick<ConfigurationUpdate, 'actor' | 'permissions'> {
  const { tenant, issuer, sub, permissions } = principalOf(request)
  return { actor: { tenant, issuer, sub }, permissions }
}

/** Parses `if-match` (RFC 9110, 13.1.1). A version without quotes is accepted too. */
export function toExpectation(header: string | undefined): (version: string) => boolean {
  if (header === undefined) return () => true
  const tags = header.split(',').map((tag) => tag.trim())
  return (version) => tags.some((tag) => tag === '*' || tag === `"${version}"` || tag === version)
}

/** The reply to a change, or to a check of a change. */
export function toUpdateReply(
  mode: ConfigurationUpdate['mode'],
  { version, at, diff, warnings, backup }: UpdatedConfiguration,
): Type.Static<typeof UpdatedReply> {
  const common = { success: true, timestamp: toTimestamp(at), previous_config_backup: backup !== undefined, diff, warnings }
  if (mode === 'check') return { ...common, message: 'The change is valid; nothing was changed.' }
  const backupText = backup === undefined ? '' : ` The previous configuration is kept as ${backup}.`
  const scope = mode === 'memory' ? ' in memory only, until the service stops' : ''
  const isChanged = diff.length > 0 || backup !== undefined
  return {
    ...common,
    message: isChanged ? `The configuration was changed${scope}.${backupText}` : 'The change has no effect: nothing was changed.',
    version,
  }
}

/** The interface document shows the two timestamps of a configuration without a zone; both are UTC. */
export function toTimestamp(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '')
}
