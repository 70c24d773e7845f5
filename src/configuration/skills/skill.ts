import type { Logger } from 'pino'
import type { AgentConfig } from '../schema.ts'

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

/** SHA-256 over the files of each module, by `moduleKey`. */
export type ModuleHashes = Readonly<Record<string, string>>

/** The skills of the folders of a configuration, at one moment, and the hashes of its pinned modules. */
export interface SkillSet {
  readonly skills: readonly Skill[]
  readonly modules: ModuleHashes
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

export type FilesConfig = Pick<AgentConfig, 'skills' | 'tools' | 'releases'>

/** Port: the files of skills and modules on this machine. The adapter lives in tools/. */
export interface AgentFiles {
  read(config: FilesConfig): Promise<SkillSet>
  /** Calls `onChange` while the files differ from `mark`, and have stayed the same for a moment. */
  watch(config: FilesConfig, mark: string, onChange: () => void): { close(): void }
}

/** The entries of modules whose files are pinned: those of a configuration with a gate. */
export function pinnedModules({ tools, releases }: Pick<AgentConfig, 'tools' | 'releases'>): { name: string; path: string }[] {
  if (!releases?.gate) return []
  return tools.flatMap(({ name, type = name, config }) => (type === 'module' ? [{ name, path: String(config?.['path']) }] : []))
}

/** Reads the skills and the pinned modules of a configuration. Undefined where there are none. */
export async function readSkills(files: AgentFiles | undefined, config: FilesConfig): Promise<SkillSet | undefined> {
  return config.skills.length > 0 || pinnedModules(config).length > 0 ? files?.read(config) : undefined
}

/** Logs the faults of a set that a former set did not have. */
export function logFaults(log: Logger, before: SkillSet | undefined, { faults }: Pick<SkillSet, 'faults'> = { faults: [] }): void {
  const problems = faults.filter((fault) => !before?.faults.includes(fault))
  if (problems.length > 0) log.error({ problems }, 'Folders of skills cannot be used')
}

export const skillsChanged = 'Files of skills or modules were changed; the configuration was changed'
