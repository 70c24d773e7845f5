import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import type { Command } from 'commander'
import type { AgentConfig } from '../configuration/schema.ts'
import type { Skill } from '../configuration/skills/skill.ts'
import { loadAgentConfig } from '../configuration/parse.ts'
import { createAgentFiles } from '../tools/agent-files.ts'
import { readSkill, SkillError } from '../tools/skills/read-skill.ts'
import { findUnknownTools } from '../tools/skills/tool-names.ts'
import { readSettings } from './prepare.ts'
import { CommandFailure, formatTable, print, type CommandContext } from './terminal.ts'
import { toFailure } from './used-configuration.ts'

/** Adds the command that checks folders of skills. */
export function addSkill(program: Command, { terminal }: CommandContext): void {
  program
    .command('skill')
    .description('Check skills: folders with instructions for a kind of work.')
    .command('check [path]')
    .description(
      'Check a folder with SKILL.md, or a folder of such folders (default: the skills of agent.yaml). Prints a line for each fault, with its file and line.',
    )
    .action(async (given?: string) => {
      const settings = readSettings(terminal)
      const config = await loadAgentConfig(settings.agentConfig).catch((error: unknown) => {
        if (given === undefined) throw toFailure(1, settings, error)
      })
      const { skills, faults } = given === undefined ? await readConfigured(settings, config!) : await readAt(terminal.cwd, given)
      const warnings = config ? skills.flatMap((skill) => findUnknownTools(skill, config)) : []
      for (const line of warnings) print(terminal, `warning: ${line}`)
      print(terminal, ...formatTable(skills.map(toRow)))
      if (faults.length > 0) throw new CommandFailure(1, faults)
      if (skills.length === 0) print(terminal, 'There are no skills in agent.yaml.')
    })
}

interface CheckedSkills {
  skills: readonly Skill[]
  faults: readonly string[]
}

function readConfigured({ agentConfig }: { agentConfig: string }, config: AgentConfig): Promise<CheckedSkills> {
  return createAgentFiles({ configDir: path.dirname(path.resolve(agentConfig)) }).read(config)
}

/** The folder itself where it has `SKILL.md`, otherwise each folder in it. */
async function readAt(cwd: string, given: string): Promise<CheckedSkills> {
  const named = path.basename(given) === 'SKILL.md' ? path.dirname(given) : given
  const folder = path.resolve(cwd, named)
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => {
    throw new CommandFailure(1, [`${named}: is not a folder that can be read`])
  })
  const inner = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).map(({ name }) => path.join(named, name))
  const isSkill = await stat(path.join(folder, 'SKILL.md')).then(
    () => true,
    () => false,
  )
  const labels = isSkill || inner.length === 0 ? [named] : inner.toSorted()
  const checked = await Promise.all(labels.map((label) => tryRead(path.resolve(cwd, label), label)))
  return { skills: checked.flatMap(({ skill }) => skill ?? []), faults: checked.flatMap(({ lines = [] }) => lines) }
}

async function tryRead(folder: string, label: string): Promise<{ skill?: Skill; lines?: readonly string[] }> {
  try {
    return { skill: await readSkill(folder, label) }
  } catch (error) {
    if (!(error instanceof SkillError)) throw error
    return { lines: error.lines }
  }
}

function toRow({ name, files, hash, allowedTools }: Skill): string[] {
  const count = files.size === 1 ? '1 file' : `${files.size} files`
  return ['ok:', name, count, `sha256 ${hash.slice(0, 12)}`, allowedTools ? `allows ${allowedTools.join(' ')}` : '']
}
