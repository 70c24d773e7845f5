import type { Logger } from 'pino'
import type { SkillsConfig } from './skills-schema.ts'

/** A skill: instructions for a kind of work, in a folder with `SKILL.md`. The content is that of one moment, and never changes. */
export interface Skill {
  readonly name: string
  readonly description: string
  /** The text of `SKILL.md` below its front matter. */
  readonly instructions: string
  /** The names in `allowed-tools`; absent: the skill narrows nothing. */
  readonly allowedTools?: readonly string[]
  /** By the path below the folder. */
  readonly files: ReadonlyMap<string, SkillFile>
  /** SHA-256 over all files, 64 hex digits. */
  readonly hash: string
}

/** A file of a skill: its text, or the reason why it cannot be read. */
export type SkillFile = { readonly text: string } | { readonly reason: string }

/** The skills of the folders of a configuration, at one moment. */
export interface SkillSet {
  readonly skills: readonly Skill[]
  /** Why other folders are no skills, a line each. */
  readonly faults: readonly string[]
  /** The state of the files: differs after each change. */
  readonly mark: string
}

/** The skills of an agent. */
export interface AgentSkills extends SkillSet {
  /** Names and descriptions for the system prompt. */
  readonly prompt: string
}

/** Port: the folders of skills on this machine. The adapter lives in tools/. */
export interface SkillFolders {
  read(entries: SkillsConfig): Promise<SkillSet>
  /** Calls `onChange` when the files differ from `mark`, and have stayed the same for a moment. */
  watch(entries: SkillsConfig, mark: string, onChange: () => void): { close(): void }
}

/** Reads the skills of a configuration. Undefined where none are configured. */
export async function readSkills(folders: SkillFolders | undefined, { skills }: { skills: SkillsConfig }): Promise<SkillSet | undefined> {
  return skills.length > 0 ? folders?.read(skills) : undefined
}

/** Logs the faults of a set that a former set did not have. */
export function logFaults(log: Logger, before: SkillSet | undefined, { faults }: Pick<SkillSet, 'faults'> = { faults: [] }): void {
  const problems = faults.filter((fault) => !before?.faults.includes(fault))
  if (problems.length > 0) log.error({ problems }, 'Folders of skills cannot be used')
}

export const skillsChanged = 'Files of skills were changed; the configuration was changed'
