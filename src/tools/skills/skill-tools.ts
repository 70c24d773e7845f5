import { loadSkillName } from '../../agent/allowed-tools.ts'
import type { JsonObject } from '../../agent/messages.ts'
import { ownMarks } from '../../agent/taint.ts'
import type { Tool, ToolListing, ToolSet } from '../../agent/tool.ts'
import type { AgentSkills, Skill, SkillSet } from '../../configuration/skills/skill.ts'
import { skillLimits } from '../../configuration/skills/skills-schema.ts'
import { maxPath } from '../../files/root.ts'
import { PassageIndex } from '../../search/word-index.ts'
import { createTool, inputSchema, toolDefaults, type ToolTraits } from '../builder.ts'
import { pageOf } from '../files/files.ts'
import { namesIn } from './tool-names.ts'

/** Adds the tools of skills behind the tools of a configuration. */
export function withSkills(tools: ToolSet, { skills }: Pick<SkillSet, 'skills'>): ToolSet {
  const listings = createSkillTools(skills).map(toListing)
  return { ...tools, list: () => [...tools.list(), ...listings] }
}

function toListing(tool: Tool): ToolListing {
  const { name, description, schema } = tool
  return { name, description, status: 'ready', schema, tool }
}

const opening =
  'Skills are instructions for kinds of work. Before you begin work that a skill describes, load the skill with load_skill, and follow it.'
const listsRest = 'There are more skills than these: find_skills finds them.'

/** Names and descriptions, a line each, in the order of the names; where all would be too long, as many as fit. */
export function toAgentSkills(set: SkillSet): AgentSkills {
  const lines = set.skills.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(toLine)
  const all = [opening, ...lines].join('\n')
  return { ...set, prompt: lines.length === 0 ? '' : all.length <= skillLimits.prompt ? all : shorten(lines) }
}

function toLine({ name, description }: Skill): string {
  return `- ${name}: ${description}`
}

function shorten(lines: readonly string[]): string {
  let room = skillLimits.prompt - opening.length - listsRest.length - 1
  const shown = lines.filter((line) => (room -= line.length + 1) >= 0)
  return [opening, ...shown, listsRest].join('\n')
}

/** The tools for skills; `find_skills` only where the prompt does not list all of them. */
export function createSkillTools(skills: readonly Skill[]): Tool[] {
  if (skills.length === 0) return []
  const byName = new Map(skills.map((skill) => [skill.name, skill]))
  const isListed = toAgentSkills({ skills, modules: {}, faults: [], mark: '' }).prompt.endsWith(listsRest)
  return [createLoad(byName), createRead(byName), ...(isListed ? [createFind(skills)] : [])]
}

const name = { type: 'string', minLength: 1, maxLength: skillLimits.name, description: 'The name of the skill.' }
/** Paths that `load_skill` lists. */
const maxListed = 100

type SkillTraits = Pick<ToolTraits, 'description' | 'schema' | 'execute'> & { maxOutputCharacters?: number }

/** Texts of the operator are trusted, as the instructions are. */
function createSkillTool(toolName: string, { maxOutputCharacters = toolDefaults.maxOutputCharacters, ...traits }: SkillTraits): Tool {
  const spec = { ...toolDefaults, maxOutputCharacters, name: toolName, marks: ownMarks, config: {} }
  return { ...createTool(spec, { ...traits, effect: 'read' }), isAlwaysAllowed: true }
}

function createLoad(byName: ReadonlyMap<string, Skill>): Tool {
  return createSkillTool(loadSkillName, {
    description: 'Loads the instructions of a skill, and lists its files.',
    schema: inputSchema({ name }, ['name']),
    // JSON is longer than the text by its line breaks and quotes.
    maxOutputCharacters: 2 * skillLimits.instructions,
    async execute(input) {
      const { name: skill, allowedTools, files, instructions } = findSkill(byName, input)
      const paths = [...files.keys()].filter((path) => path !== 'SKILL.md')
      return {
        skill,
        ...(allowedTools && { allowed_tools: namesIn(allowedTools) }),
        files: paths.slice(0, maxListed),
        ...(paths.length > maxListed && { more_files: paths.length - maxListed }),
        instructions,
      }
    },
  })
}

function createRead(byName: ReadonlyMap<string, Skill>): Tool {
  return createSkillTool('read_skill_file', {
    description: 'Reads a text file of a skill, page by page. `next_offset` leads to the next page. Files are never run.',
    schema: inputSchema(
      {
        name,
        path: { type: 'string', minLength: 1, maxLength: maxPath, description: 'The path of the file, as load_skill lists it.' },
        offset: { type: 'integer', minimum: 0, description: 'Character to begin at: `next_offset` of the previous page.' },
      },
      ['name', 'path'],
    ),
    async execute(input) {
      const skill = findSkill(byName, input)
      const path = String(input['path'])
      // The files are those of the version, in memory: a path is a name, and leads nowhere else.
      const file = skill.files.get(path)
      if (!file)
        throw new Error(`The skill ${skill.name} has no file ${JSON.stringify(path.slice(0, maxShown))}. load_skill lists the files.`)
      if ('reason' in file) throw new Error(`${path} cannot be read: the file ${file.reason}.`)
      return pageOf({ path, text: file.text }, input, toolDefaults.maxOutputCharacters)
    },
  })
}

function createFind(skills: readonly Skill[]): Tool {
  const index = new PassageIndex()
  const byId = new Map(skills.map((skill) => [index.add(skill.name.replaceAll('-', ' '), skill.description), skill]))
  return createSkillTool('find_skills', {
    description: 'Finds skills by what they are for. Look here before work for which no listed skill fits.',
    schema: inputSchema({ query: { type: 'string', minLength: 1, maxLength: 1000, description: 'What is to be done.' } }, ['query']),
    async execute({ query }) {
      const hits = index.search(String(query), byId.keys(), maxFound).map(({ id }) => byId.get(id)!)
      return { skills: hits.map((skill) => ({ name: skill.name, description: skill.description })), total: skills.length }
    },
  })
}

const maxFound = 8
const maxShown = 200

function findSkill(byName: ReadonlyMap<string, Skill>, input: JsonObject): Skill {
  const skill = byName.get(String(input['name']))
  if (!skill) throw new Error(`There is no skill ${JSON.stringify(input['name'])}. The skills are: ${[...byName.keys()].join(', ')}.`)
  return skill
}
