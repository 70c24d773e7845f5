import { requireAccess, type Principal } from '../../access/permissions.ts'
import type { RequestedChange } from '../../configuration/change/state.ts'
import type { Configuration, RestoredVersion } from '../../configuration/configuration.ts'
import { hashOf } from '../../configuration/hash.ts'
import type { FrozenVariant, Variant } from './spec.ts'

/**
 * Freezes the configuration of a variant by the rules of a change. Throws `validation` with the places below `body.<name>`, `forbidden` for
 * a change that the caller may not make, and `not_found` for an unknown version.
 */
export async function freezeVariant(
  variant: Variant,
  name: 'baseline' | 'candidate',
  caller: Principal,
  configuration: Pick<Configuration, 'preview' | 'show'>,
): Promise<FrozenVariant> {
  if (changesConfiguration(variant)) requireAccess(caller, ['config.write'])
  const change = toChange(variant, configuration.show().version)
  const field = variant.kind === 'recorded' ? 'version' : variant.kind
  const { data, config } = await configuration.preview({
    change,
    permissions: caller.permissions,
    base: variant.kind === 'patch' ? variant.base : undefined,
    at: { change: ['body', name, field], base: ['body', name, 'base'] },
  })
  const { kind } = variant
  if (kind === 'recorded') return { kind, data }
  return { kind, ...(kind === 'version' && { version: variant.version }), configHash: hashOf(config), data }
}

/** True for a variant that is no recorded version: its owner needs the permission to change the configuration. */
export function changesConfiguration({ kind }: Pick<Variant, 'kind'>): boolean {
  return kind === 'patch' || kind === 'text'
}

/** Recorded replies belong to the configuration in use. */
function toChange(variant: Variant, version: string): RequestedChange | RestoredVersion {
  if (variant.kind === 'version') return { kind: 'restore', version: variant.version }
  return variant.kind === 'recorded' ? { kind: 'restore', version } : variant
}
