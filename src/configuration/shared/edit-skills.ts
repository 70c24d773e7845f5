import { createSettledAgent, type ConfigurationDependencies } from '../configuration.ts'
import { changedSkills, type PinnedSkills } from '../skills/pins.ts'
import { logFaults, skillsChanged } from '../skills/skill.ts'
import type { LatestConfiguration, LoadedConfiguration } from './latest-configuration.ts'
import type { LocalSkills } from './local-skills.ts'
import type { ReadyConfiguration } from './served-configuration.ts'

interface EditSkillsDependencies extends Pick<ConfigurationDependencies, 'createAgent' | 'newVersion' | 'now' | 'log'> {
  latest: LatestConfiguration
  skills: LocalSkills
  /** Called after a change of the files was pinned. */
  publish(version: string): void
}

/** Pins changed files of skills as the newest configuration. Undefined where the pins stay. */
export type EditSkills = (when: 'start' | 'running') => Promise<ReadyConfiguration | undefined>

export function createEditSkills(deps: EditSkillsDependencies): EditSkills {
  const { latest, skills, publish, log } = deps
  return async (when) => {
    for (;;) {
      const newest = await latest.read()
      const edit = when === 'start' ? await skills.editedBefore(newest) : await skills.edited(newest)
      if (!edit) return undefined
      const ready = await addPins(newest, edit, deps)
      // Another process stored a configuration first.
      if (!ready) continue
      logFaults(log, undefined, edit.set)
      publish(ready.configuration.version)
      return ready
    }
  }
}

async function addPins(
  newest: LoadedConfiguration,
  { set, pins }: PinnedSkills,
  deps: EditSkillsDependencies,
): Promise<ReadyConfiguration | undefined> {
  const { stored, used } = newest
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
