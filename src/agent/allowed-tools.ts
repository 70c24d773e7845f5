import { isQuestion } from './inbox.ts'
import type { Message } from './messages.ts'
import type { Tool } from './tool.ts'
import { fitName } from './tool-names.ts'

/** The tools of skills. No skill takes these away, since they read texts of the operator alone. */
export const loadSkillName = 'load_skill'
export const skillToolNames: ReadonlySet<string> = new Set([loadSkillName, 'read_skill_file', 'find_skills'])

/** What the skills of a run leave of its tools. */
export interface Narrowing {
  /** The loaded skills with a list. */
  skills: readonly string[]
  allows(tool: Pick<Tool, 'name' | 'isAlwaysAllowed'>): boolean
}

/** The beginning of the output of `load_skill` for a skill with a list. The names have no bracket, so a list is whole where an output is cut. */
const listed = /^\{"skill":"([a-z0-9-]+)","allowed_tools":(\[[^\]]*\])/

/**
 * The narrowing by the skills that a run has loaded; undefined where none of them has a list. The lists are read from the results in the
 * transcript: a process that resumes the run narrows alike, also after a change of the skill. Several lists allow what one of them allows.
 */
export function narrowingOf(messages: readonly Message[]): Narrowing | undefined {
  const start = messages.findLastIndex(isQuestion)
  const lists = new Map<string, readonly string[]>()
  for (const message of messages.slice(start + 1)) {
    const [, skill, list] =
      (message.role === 'tool' && message.name === loadSkillName && !message.isError && listed.exec(message.text)) || []
    if (skill !== undefined && list !== undefined) lists.set(skill, JSON.parse(list) as string[])
  }
  if (lists.size === 0) return undefined
  const names = new Set([...lists.values()].flat())
  return {
    skills: [...lists.keys()],
    allows: ({ name, isAlwaysAllowed }) =>
      isAlwaysAllowed === true || names.has(name) || names.has(fitName(name)) || isOfEntry(name, names),
  }
}

/** A list may name an entry with several tools. */
function isOfEntry(name: string, names: ReadonlySet<string>): boolean {
  return [...name.matchAll(/(?=__)/g)].some(({ index }) => names.has(name.slice(0, index)))
}

/** The text for the model of a refused call. */
export function narrowedText(name: string, { skills }: Narrowing): string {
  return `${name} can't be used in this run: allowed-tools of the loaded skills (${skills.join(', ')}) do not name it.`
}
