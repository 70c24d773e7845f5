import path from 'node:path'
import type { AgentConfig } from '../../configuration/schema.ts'
import { pinnedSkills, type SkillPins } from '../../configuration/skills/pins.ts'
import type { Finding } from '../../models/check-models.ts'
import type { Settings } from '../../settings/settings.ts'
import { createAgentFiles } from '../../tools/agent-files.ts'
import { findUnknownTools } from '../../tools/skills/tool-names.ts'

/** Reads the skills of a configuration. `pins`: the hashes in the database, which decide where several processes share the configuration. */
export async function checkSkills(
  config: AgentConfig,
  { agentConfig }: Pick<Settings, 'agentConfig'>,
  pins: SkillPins | undefined,
): Promise<Finding[]> {
  if (config.skills.length === 0) return []
  const read = await createAgentFiles({ configDir: path.dirname(path.resolve(agentConfig)) }).read(config)
  const { skills, faults } = pins ? pinnedSkills(read, pins) : read
  const advice = 'Correct the folder, and run "agent-core skill check". The other skills can be used.'
  const unknown = skills.flatMap((skill) => findUnknownTools(skill, config))
  return [
    ...(skills.length > 0 ? [{ state: 'ok' as const, text: `skills: ${skills.map(({ name }) => name).join(', ')}` }] : []),
    ...unknown.map((text): Finding => ({ state: 'warn', text: `skills: ${text}` })),
    ...faults.map((text): Finding => ({ state: 'fail', text: `skills: ${text}`, advice })),
  ]
}
