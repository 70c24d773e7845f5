import { userInfo } from 'node:os'
import type { ActingIn } from '../audit/acts.ts'
import type { AgentConfig } from '../configuration/schema.ts'
import type { Settings } from '../settings/settings.ts'
import { loadUsedConfiguration } from './used-configuration.ts'

/** The person at the command line, for the ledger of the administrators' tenant. Undefined where agent.yaml switches the ledger off. */
export async function commandActing(settings: Settings): Promise<ActingIn | undefined> {
  return actingUnder((await loadUsedConfiguration(settings).catch(() => undefined))?.config, settings)
}

/** `commandActing`, where the configuration is known. */
export function actingUnder(config: Pick<AgentConfig, 'audit'> | undefined, settings: Settings): ActingIn | undefined {
  if (config?.audit.enabled === false) return undefined
  return { tenant: settings.adminTenant, issuer: 'os', sub: userName(), via: 'cli' }
}

/** The user of a container may have no name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return 'unknown'
  }
}
