import type { ToolOffer } from '../src/agent/model.ts'
import { listed, named } from '../src/json/schema/schema-nodes.ts'
import { isPath } from './argument-words.ts'
import { isFreeText } from './arguments.ts'
import { readWords, setOf, stem, stemsOf, unusedOf, wordsOf } from './language/words.ts'

/** The use of a tool, by its name, description and schema. */

export interface Profile {
  tool: ToolOffer
  name: Set<string>
  description: Set<string>
  parameters: string[]
  required: string[]
}

const subAgent = 'sub_agent_'
const searchStems = ['search', 'find', 'look', 'retrieve', 'passage', 'knowledge'].map(stem)
const readingVerbs = setOf('get list read search find fetch lookup query describe')

/** Common verbs and nouns in names and descriptions of tools, which distinguish little. */
const weak = stemsOf(
  'get list read search query find create update delete run call fetch return value tool input output name text result base default such instance number one only more',
)

export function toProfile(tool: ToolOffer): Profile {
  // Lines about tables are read elsewhere. As plain words they would count twice.
  const lines = tool.description.split('\n').filter((line) => !line.trim().startsWith('- '))
  return {
    tool,
    name: new Set(wordsOf(tool.name.replace(subAgent, '')).map(stem)),
    description: stemsOf(lines.join('\n')),
    parameters: Object.keys(named(tool.schema, 'properties')),
    required: listed(tool.schema, 'required').map(String),
  }
}

export function isSubAgent({ name }: ToolOffer): boolean {
  return name.startsWith(subAgent)
}

/** True for a tool that only reads: by its effect, or by its name where a client or a server states no effect. */
export function isReader({ name, effect }: ToolOffer): boolean {
  return effect === 'read' || readingVerbs.has(wordsOf(name.split('__').at(-1)!)[0] ?? '')
}

/** True for a tool that is called only after a yes of the person: the tool may change something, and nobody else decides on the call. */
export function needsYes(tool: ToolOffer): boolean {
  return !isReader(tool) && !tool.isHeld
}

/** True for a tool that searches texts. A sub-agent is called only if the request names it, not for lack of another tool. */
export function isSearch({ tool, name, description, required }: Profile): boolean {
  return !isSubAgent(tool) && required.some(isFreeText) && searchStems.some((part) => name.has(part) || description.has(part))
}

/** The only tool with all of these parameters. */
export function findWith(tools: readonly ToolOffer[], ...parameters: string[]): ToolOffer | undefined {
  return tools.find(({ schema }) => parameters.every((name) => name in named(schema, 'properties')))
}

/** How much a request has in common with the name and the description of a tool. Words that many tools share count less. */
export function weigh(profile: Profile, request: string, profiles: readonly Profile[]): { score: number; evidence: string[] } {
  const { name, description } = profile
  const evidence: string[] = []
  let score = addressed(profile, request)
  const words = unusedOf(readWords(request)).filter(({ text, lower }) => !isPath(text) && !/^\d/.test(lower))
  const stems = new Map(words.map((word) => [word.stem, word.lower]))
  for (const [part, lower] of stems) {
    const field = name.has(part) ? 'name' : description.has(part) && !weak.has(part) ? 'description' : undefined
    if (!field) continue
    const weight = field === 'name' ? (weak.has(part) ? 2 : 4) : isSearch(profile) ? 2.5 : 1.5
    score += weight / Math.sqrt(profiles.filter((profileOfTool) => profileOfTool[field].has(part)).length)
    evidence.push(lower)
  }
  const isNamed = name.size > 1 && [...name].every((part) => stems.has(part))
  return { score: isNamed ? score + 4 : score, evidence }
}

const callings = setOf('does do did to search ask use using consult check with query')

/** Weight of a request that addresses a tool: "what does the handbook say", "search the handbook", "ask the researcher to". */
function addressed({ tool }: Profile, request: string): number {
  const name = wordsOf(tool.name).filter((word) => !['sub', 'agent', 'tool'].includes(word))
  const words = readWords(request).map(({ lower }) => lower)
  const at = words.findIndex((_, index) => name.every((part, offset) => words[index + offset] === part))
  if (at < 1 || name.length === 0 || ['file', 'files', 'figures', 'data', 'by'].includes(words[at + name.length] ?? '')) return 0
  const before = words.slice(0, at).findLast((word) => !['the', 'our', 'my'].includes(word)) ?? ''
  return callings.has(before) ? 8 : ['in', 'from', 'of'].includes(before) ? 2 : 0
}
