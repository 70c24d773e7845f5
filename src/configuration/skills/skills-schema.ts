import { Type, type Static } from 'typebox'
import { skillToolNames } from '../../agent/allowed-tools.ts'
import { isObject } from '../../json/shape.ts'
import { expandBraces, GlobError } from '../glob-braces.ts'
import { problemAt, type ConfigProblem, type Path } from '../problems.ts'
import { strict } from '../schema-parts.ts'

/** The limits of skills. Names and descriptions stand in each prompt, and texts stay in memory. */
export const skillLimits = {
  skills: 100,
  name: 64,
  description: 1024,
  /** Characters below the front matter of `SKILL.md`. */
  instructions: 50_000,
  files: 256,
  /** Folders within folders. */
  depth: 8,
  skillBytes: 10_485_760,
  /** Bytes of a file that `read_skill_file` reads. */
  textBytes: 262_144,
  /** Bytes of the texts of all skills. */
  allTextBytes: 33_554_432,
  /** Characters of names and descriptions in the prompt. */
  prompt: 4000,
} as const

const SkillEntry = Type.Object(
  {
    path: Type.String({
      minLength: 1,
      maxLength: 1000,
      description: 'A folder with `SKILL.md`, or a pattern such as `skills/*`, relative to agent.yaml and below its folder.',
    }),
  },
  { ...strict, description: 'Folders of skills.' },
)

export const Skills = Type.Array(SkillEntry, {
  default: [],
  maxItems: skillLimits.skills,
  description:
    'Skills: instructions for kinds of work, which the model loads when the work begins. The names of the folders are their names.',
})

export type SkillsConfig = Static<typeof Skills>

/** Checks the patterns, which must stay below the folder of agent.yaml, and the names that the tools of skills take. */
export function checkSkills(config: unknown): ConfigProblem[] {
  const { skills, tools } = isObject(config) ? config : {}
  if (!Array.isArray(skills) || skills.length === 0) return []
  const patterns = skills.slice(0, skillLimits.skills).flatMap((entry: unknown, index) => {
    const path = isObject(entry) ? entry['path'] : undefined
    return typeof path === 'string' ? checkPattern(path, ['skills', index, 'path']) : []
  })
  const names = (Array.isArray(tools) ? tools : []).flatMap((tool: unknown, index) => {
    const name = isObject(tool) ? tool['name'] : undefined
    const isTaken = typeof name === 'string' && skillToolNames.has(name)
    return isTaken ? [problemAt(['tools', index, 'name'], `"${name}" is the name of a tool of skills; choose another name`)] : []
  })
  return [...patterns, ...names]
}

function checkPattern(pattern: string, at: Path): ConfigProblem[] {
  try {
    const parts = expandBraces(pattern).flatMap((expanded) => expanded.split('/'))
    if (pattern.startsWith('/') || parts.includes('..')) return [problemAt(at, 'must stay below the folder of agent.yaml')]
    if (parts.some((part) => part.includes('**'))) return [problemAt(at, 'cannot contain **; name the folder in which the skills are')]
    return []
  } catch (error) {
    if (error instanceof GlobError) return [problemAt(at, error.message)]
    throw error
  }
}
