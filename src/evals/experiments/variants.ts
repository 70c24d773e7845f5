import { isDeepStrictEqual } from 'node:util'
import { requireAccess, type Principal } from '../../access/permissions.ts'
import type { RequestedChange } from '../../configuration/change/state.ts'
import type { Configuration, RestoredVersion } from '../../configuration/configuration.ts'
import { hashOf } from '../../configuration/hash.ts'
import { effectOfProviderTool } from '../../configuration/provider-tool-schema.ts'
import type { AgentConfig } from '../../configuration/schema.ts'
import { invalid, type Fault } from '../../errors.ts'
import type { FrozenVariant, Variant, VariantSpec } from './spec.ts'

interface Freezing {
  caller: Principal
  configuration: Pick<Configuration, 'preview' | 'show'>
  /** The configuration in use. */
  inUse: Pick<AgentConfig, 'tools'>
}

/**
 * Freezes the configuration and the hashes of the files of a variant by the rules of a change. Throws `validation` with the places below `body.<name>`, `forbidden` for
 * a change that the caller may not make, and `not_found` for an unknown version.
 */
export async function freezeVariant(
  variant: Variant,
  name: 'baseline' | 'candidate',
  { caller, configuration, inUse }: Freezing,
): Promise<FrozenVariant> {
  if (changesConfiguration(variant)) requireAccess(caller, ['config.write'])
  const change = toChange(variant, configuration.show().version)
  const field = variant.kind === 'recorded' ? 'version' : variant.kind
  const { data, config, pins } = await configuration.preview({
    change,
    permissions: caller.permissions,
    base: variant.kind === 'patch' ? variant.base : undefined,
    at: { change: ['body', name, field], base: ['body', name, 'base'] },
  })
  const { kind } = variant
  if (kind === 'recorded') return { kind, data, pins }
  refuseProviderWrites(config, ['body', name])
  const opensTools = config.tools.some((entry) => !inUse.tools.some((used) => isDeepStrictEqual(used, entry)))
  if (opensTools) requireAccess(caller, ['config.write'])
  return {
    kind,
    ...(kind === 'version' && { version: variant.version }),
    configHash: hashOf(config, pins),
    pins,
    ...(opensTools && { opensTools }),
    data,
  }
}

/** True where the owner needs the permission to change the configuration: for one that nobody has recorded, and for tools that are not in use. */
export function changesConfiguration({ kind, opensTools = false }: Pick<VariantSpec, 'kind' | 'opensTools'>): boolean {
  return kind === 'patch' || kind === 'text' || opensTools
}

/** A replay cannot hold back what the provider of a model does, so that its list of writes would not be whole. */
function refuseProviderWrites({ tools }: AgentConfig, at: Fault['loc']): void {
  for (const { name, type = name, effect, config } of tools) {
    if (type !== 'provider' || effectOfProviderTool(config?.['tool'], effect) === 'read') continue
    throw invalid(at, `the provider of the model runs the tool ${name}, which has effect write: try the configuration without the tool`)
  }
}

/** Recorded replies belong to the configuration in use. */
function toChange(variant: Variant, version: string): RequestedChange | RestoredVersion {
  if (variant.kind === 'version') return { kind: 'restore', version: variant.version }
  return variant.kind === 'recorded' ? { kind: 'restore', version } : variant
}
