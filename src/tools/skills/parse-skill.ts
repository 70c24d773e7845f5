import { ConfigError, problemAt, type ConfigProblem, type Path } from '../../configuration/problems.ts'
import { skillLimits } from '../../configuration/skills/skills-schema.ts'
import { readYaml } from '../../configuration/yaml-source.ts'
import { isObject } from '../../json/shape.ts'

/** The content of `SKILL.md`, see agentskills.io. Fields of the front matter without a meaning here stay in the file alone. */
export interface ParsedSkill {
  name: string
  description: string
  instructions: string
  allowedTools?: string[]
}

const namePattern = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const maxFrontMatter = 20_000

/** Parses `SKILL.md`. Throws `ConfigError` with all faults and their lines. */
export function parseSkill(text: string, folder: string): ParsedSkill {
  const { yaml, body } = split(text.replace(/^\ufeff/, ''))
  const { value, lineOf } = withOffset(() => readYaml(yaml))
  const fields = isObject(value) ? value : {}
  const instructions = body.trim()
  const problems = [
    ...(isObject(value) ? [] : [problemAt([], 'the front matter must be a mapping')]),
    ...checkName(fields['name'], folder),
    ...checkText(fields['description'], ['description'], skillLimits.description),
    ...checkText(instructions, [], skillLimits.instructions),
    ...checkAllowed(fields['allowed-tools']),
  ]
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => ({ ...problem, line: (lineOf(problem.at) ?? 0) + 1 })))
  const allowed = allowedIn(fields['allowed-tools'])
  return {
    name: String(fields['name']),
    description: oneLine(String(fields['description'])),
    instructions,
    ...(allowed && { allowedTools: allowed }),
  }
}

function split(text: string): { yaml: string; body: string } {
  const opening = /^---[ \t]*\r?\n/.exec(text)
  if (!opening) throw faultAt('must begin with front matter: a line "---", the fields, and a line "---"', 1)
  const rest = text.slice(opening[0].length)
  const closing = /^---[ \t]*\r?$/m.exec(rest.slice(0, maxFrontMatter))
  if (!closing) throw faultAt(`has no line "---" below the front matter, which may have ${maxFrontMatter} characters`, 1)
  return { yaml: rest.slice(0, closing.index), body: rest.slice(closing.index + closing[0].length) }
}

function faultAt(message: string, line: number): ConfigError {
  return new ConfigError([{ ...problemAt([], message), line }])
}

/** Faults of the YAML have lines from the beginning of the file. */
function withOffset<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new ConfigError(error.problems.map((problem) => ({ ...problem, line: (problem.line ?? 0) + 1 })))
  }
}

function checkName(name: unknown, folder: string): ConfigProblem[] {
  const at = ['name']
  const problems = checkText(name, at, skillLimits.name)
  if (problems.length > 0 || typeof name !== 'string') return problems
  if (!namePattern.test(name)) return [problemAt(at, 'must be lower-case letters, digits and single hyphens between them')]
  return name === folder ? [] : [problemAt(at, `must be the name of the folder, ${JSON.stringify(folder.slice(0, skillLimits.name))}`)]
}

function checkText(value: unknown, at: Path, limit: number): ConfigProblem[] {
  if (value === undefined) return [problemAt(at, 'is required but missing')]
  const what = at.length === 0 ? 'the text below the front matter ' : ''
  if (typeof value !== 'string') return [problemAt(at, 'must be a text')]
  if (value.trim() === '') return [problemAt(at, `${what}must not be empty`)]
  return value.length > limit ? [problemAt(at, `${what}must have at most ${limit} characters, but has ${value.length}`)] : []
}

function checkAllowed(value: unknown): ConfigProblem[] {
  const isList = Array.isArray(value) && value.every((name) => typeof name === 'string')
  return value === undefined || typeof value === 'string' || isList
    ? []
    : [problemAt(['allowed-tools'], 'must be a text with names of tools, separated by spaces, or a list of names')]
}

/** The entries of `allowed-tools`, which need not be names of tools of this agent. */
function allowedIn(value: unknown): string[] | undefined {
  if (value === undefined) return undefined
  return (Array.isArray(value) ? value.map(String) : String(value).split(/[\s,]+/)).map((name) => name.trim()).filter((name) => name !== '')
}

/** A description is one line of the prompt, whatever the file has. */
function oneLine(text: string): string {
  return text.replace(/[\s\p{Cc}\u2028\u2029]+/gu, ' ').trim()
}
