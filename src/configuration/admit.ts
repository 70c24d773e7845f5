import { describeRefusal, overrideOrThrow, type GateOverride, type GateRefusal } from './change/gate.ts'
import type { ConfigurationState } from './change/state.ts'
import {
  placeOf,
  prepareChange,
  withValidationErrors,
  type ConfigurationDependencies,
  type ConfigurationUpdate,
  type PreparedChange,
} from './configuration.ts'
import type { ConfigurationStore } from './configuration-store.ts'
import { hideUrlSecrets } from './redact.ts'
import type { AgentConfig } from './schema.ts'
import { changedSkills, type PinnedSkills, type SkillPins } from './skills/pins.ts'

/** A change that the gate has judged. */
export interface AdmittedChange extends PreparedChange {
  /** Present for a change that is only checked, where the gate would refuse the change. */
  refusal?: GateRefusal
  override?: GateOverride
  /** The skills of the new configuration; undefined: none are configured. */
  skills: PinnedSkills | undefined
}

/** The skills beside a configuration. */
export interface SkillChange {
  /** The pins of the current configuration. */
  before: SkillPins | undefined
  /** The skills of another configuration. */
  after(config: AgentConfig): Promise<PinnedSkills | undefined>
}

/** Throws as `prepareChange` does, and `gate_not_passed` where the caller does not override the gate. */
export async function admitChange(
  current: ConfigurationState,
  update: ConfigurationUpdate,
  deps: Pick<ConfigurationDependencies, 'rules' | 'gate'> & { store: ConfigurationStore },
  { before, after }: SkillChange,
): Promise<AdmittedChange> {
  const { next, diff, oddities } = await prepareChange(current, update, deps)
  const skills = await after(next.used.config)
  const prepared = {
    next,
    diff: [...diff, ...changedSkills(before, skills?.pins)],
    oddities: [...oddities, ...(skills?.set.faults ?? [])],
    skills,
  }
  const refusal = await deps.gate({ ...current, pins: before }, { ...next, pins: skills?.pins })
  if (update.mode === 'check') return { ...prepared, ...(refusal && { refusal }) }
  return { ...prepared, ...overrideOrThrow(refusal, update.override) }
}

/** The warnings of a change that is only checked: why the gate would refuse the change, and what the tools and models would lack. */
export async function tryChange(
  { next, oddities, refusal }: AdmittedChange,
  { change }: ConfigurationUpdate,
  { tryOut }: Pick<ConfigurationDependencies, 'tryOut'>,
): Promise<string[]> {
  const faults = await withValidationErrors(() => tryOut(next.used.config), placeOf(change))
  return [...(refusal ? [describeRefusal(refusal)] : []), ...faults.map(hideUrlSecrets), ...oddities]
}
