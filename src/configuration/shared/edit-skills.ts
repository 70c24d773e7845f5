import { ServiceError } from '../../errors.ts'
import { overrideOrThrow } from '../change/gate.ts'
import { createSettledAgent, type ConfigurationDependencies } from '../configuration.ts'
import { filesUnused, ofFiles } from '../file/refused-edit.ts'
import { changedSkills } from '../skills/pins.ts'
import { logFaults, skillsChanged } from '../skills/skill.ts'
import type { LatestConfiguration, LoadedConfiguration } from './latest-configuration.ts'
import type { LocalSkills, SkillEdit } from './local-skills.ts'
import type { ReadyConfiguration } from './served-configuration.ts'

interface EditSkillsDependencies extends Pick<ConfigurationDependencies, 'createAgent' | 'gate' | 'newVersion' | 'now' | 'log'> {
  latest: LatestConfiguration
  skills: LocalSkills
  /** Called after a change of the files was pinned. */
  publish(version: string): void
}

export interface EditSkills {
  /** Pins changed files of skills and modules as the newest configuration. Undefined where the pins stay, `refused` where the gate says so. */
  edit(when: 'start' | 'running'): Promise<ReadyConfiguration | 'refused' | undefined>
  /** Why the present files are not in use, a line each. */
  readonly faults: readonly string[]
}

export function createEditSkills(deps: EditSkillsDependencies): EditSkills {
  const { latest, skills, publish, log } = deps
  let faults: readonly string[] = []

  async function edit(when: 'start' | 'running'): Promise<ReadyConfiguration | undefined> {
    for (;;) {
      const newest = await latest.read()
      const edited = when === 'start' ? await skills.editedBefore(newest) : await skills.edited(newest)
      if (!edited) return undefined
      const ready = await addPins(newest, edited, deps)
      // Another process stored a configuration first.
      if (!ready) continue
      edited.settle()
      logFaults(log, undefined, edited.set)
      publish(ready.configuration.version)
      return ready
    }
  }

  return {
    get faults() {
      return faults
    },
    async edit(when) {
      try {
        const ready = await edit(when)
        faults = []
        return ready
      } catch (error) {
        if (!(error instanceof ServiceError && error.code === 'gate_not_passed')) throw error
        if (faults[0] !== error.message) log.error({ problems: [error.message] }, filesUnused)
        faults = [error.message]
        return 'refused'
      }
    },
  }
}

/** Undefined where another process stored a configuration first. Throws `gate_not_passed`. */
async function addPins(
  newest: LoadedConfiguration,
  { set, pins, before }: SkillEdit,
  deps: EditSkillsDependencies,
): Promise<ReadyConfiguration | undefined> {
  const { stored, used } = newest
  overrideOrThrow(await deps.gate({ stored, used, pins: before }, { stored, used, pins }), undefined, ofFiles)
  const version = deps.newVersion()
  const diff = changedSkills(newest.pins, pins)
  const parts = await createSettledAgent(deps, used.config, version, set)
  const configuration = await deps.latest.add({ stored, used, version, kind: 'skills', at: deps.now(), diff, skills: pins }, newest)
  if (!configuration) {
    await parts.tools.close()
    return undefined
  }
  deps.log.info({ version, diff }, skillsChanged)
  return { configuration, parts }
}
