import type { ToolOffer } from '../../agent/model.ts'
import type { JsonObject } from '../../agent/messages.ts'
import { fillArguments, freeTextNames } from './arguments.ts'
import { findExpression } from './expression.ts'
import { readQuestion } from './sql/read-question.ts'
import type { Reading } from './sql/reading.ts'
import { merge, writeSelect } from './sql/select.ts'
import { parseTables } from './sql/tables.ts'
import { stem, stemsOf, wordsOf } from './words.ts'
import { readWriteOrder, writesFiles } from './write-order.ts'

/** A call that fits a request, with the words that led to the choice. */
export interface Choice {
  tool: ToolOffer
  input: JsonObject
  evidence: string[]
  score: number
}

const subAgentPrefix = /^sub_agent_/

/** Minimal score of a tool that fits a request. */
const threshold = 2.5

/** Score of an explicit order, which outweighs any number of shared words. */
const orderScore = 20

/** Common verbs and nouns in names and descriptions of tools, which distinguish little. */
const weak = new Set(
  'get list read search query find create update delete run call fetch show return give value use tool input output name text result base default such instance number one or and with its it their where whether other only more'
    .split(' ')
    .map(stem),
)

/** Chooses the best tool for a request, with its input; undefined if no tool fits. `chain` has the questions before a follow-up, oldest first. */
export function chooseTool(request: string, tools: readonly ToolOffer[], chain: readonly string[] = []): Choice | undefined {
  if (request.trim() === '') return undefined
  const profiles = tools.map(toProfile)
  const choices = profiles.flatMap((profile) => {
    const choice = weigh(profile, request, profiles, chain)
    return choice && choice.score >= threshold ? [choice] : []
  })
  return choices.toSorted((a, b) => b.score - a.score)[0] ?? searchAnyway(request, profiles)
}

interface Profile {
  tool: ToolOffer
  name: Set<string>
  description: Set<string>
  parameters: string[]
  required: string[]
  isSearch: boolean
}

function toProfile(tool: ToolOffer): Profile {
  const parameters = Object.keys(tool.schema['properties'] ?? {})
  const required = Array.isArray(tool.schema['required']) ? (tool.schema['required'] as string[]) : []
  const isSubAgent = subAgentPrefix.test(tool.name)
  // A sub-agent is called only if the request names or describes the sub-agent, not for lack of another tool.
  const isSearch =
    !isSubAgent &&
    required.some((name) => freeTextNames.test(name)) &&
    /\b(search|find|look|retriev|passages|knowledge)/i.test(`${tool.name} ${tool.description}`)
  // Lines about tables are scored separately. As plain words they would count twice.
  const description = tool.description.replace(/^[^\S\n]*-\s.*$/gm, '')
  return {
    tool,
    name: new Set(wordsOf(tool.name.replace(subAgentPrefix, '')).map(stem)),
    description: stemsOf(description),
    parameters,
    required,
    isSearch,
  }
}

function weigh(profile: Profile, request: string, profiles: readonly Profile[], chain: readonly string[]): Choice | undefined {
  const { tool } = profile
  if (profile.parameters.includes('sql')) return weighSql(profile, request, profiles, chain)
  if (writesFiles(tool.schema)) {
    const input = readWriteOrder(request)
    return input && { tool, input, evidence: ['write', String(input['file_name'])], score: orderScore }
  }
  const filled = fillArguments(tool.schema, request)
  if (!filled) return undefined
  const words = weighWords(profile, request, profiles)
  let score = words.score + addressed(profile, request) + clockScore(profile, request)
  if (profile.parameters.includes('expression')) score += findExpression(request)?.isAll ? 10 : words.score > 0 ? 4 : 2
  else if (namesFile(profile, filled.input)) score += 6
  else if (filled.filledNames.length > 0 && words.score > 0) score += 2 * filled.filledNames.length
  const evidence = [...words.evidence, ...(filled.filledNames.includes('expression') ? [String(filled.input['expression'])] : [])]
  return { tool, input: filled.input, evidence, score }
}

/** The name of a file in the request counts as an order to open the file. */
function namesFile({ required }: Profile, input: JsonObject): boolean {
  return required.some((name) => /path|file/i.test(name) && /\.[a-z0-9]{1,5}$/i.test(String(input[name])))
}

function weighWords(profile: Profile, request: string, profiles: readonly Profile[]): { score: number; evidence: string[] } {
  const evidence: string[] = []
  let score = 0
  const visited = new Set<string>()
  for (const word of wordsOf(withoutPaths(request))) {
    const part = stem(word)
    if (visited.has(part) || /^\d/.test(word)) continue
    visited.add(part)
    const sharing = (field: 'name' | 'description') => Math.sqrt(profiles.filter((profile) => profile[field].has(part)).length)
    if (profile.name.has(part)) score += (weak.has(part) ? 2 : 4) / sharing('name')
    else if (profile.description.has(part) && !weak.has(part)) score += (profile.isSearch ? 2.5 : 1.5) / sharing('description')
    else continue
    evidence.push(word)
  }
  const isNamedWhole = profile.name.size > 1 && [...profile.name].every((part) => visited.has(part))
  return { score: isNamedWhole ? score + 4 : score, evidence }
}

/** Removes paths: their words name a file, not an action. The expression visits each run of characters once, however long the run is. */
function withoutPaths(text: string): string {
  return text.replace(/(?<![\w.-])[\w.-]+\/[\w./-]+|(?<![\w-])[\w-]+\.[a-z]{2,5}\b/gi, ' ')
}

/** Scores requests that address a tool: "what does the handbook say", "search the handbook", "ask the researcher to". */
function addressed(profile: Profile, request: string): number {
  const name = wordsOf(profile.tool.name)
    .filter((word) => !/^(sub|agent|tool)$/.test(word))
    .join('[ _-]')
  const strong = new RegExp(
    `\\b(?:does|do|did|according to|search|ask|use|using|consult|check|with|query) (?:the |our |my )?${name}\\b(?! (?:file|figures|data)s?\\b)`,
    'i',
  )
  const plain = withoutPaths(request)
  if (name !== '' && strong.test(plain)) return 8
  return name !== '' && new RegExp(`\\b(?:in|from|of) (?:the |our |my )?${name}\\b`, 'i').test(plain) ? 2 : 0
}

const clock =
  /\b(what|which)('?s| is)? (the )?(current |local )?(time|date|day|weekday|year)( is it| is today|'?s| now| today| in\b| of the week|\W*$)|\b(current|local) (time|date)|\btoday'?s date|\btime (now|is it)|\bwhat day is|^time in\b|\bhow late is it/i

function clockScore(profile: Profile, request: string): number {
  return profile.parameters.some((name) => /time_?zone|^tz$/i.test(name)) && clock.test(request) ? 7 : 0
}

const figureWords = /\b(total|sum|average|mean|median|how many|highest|lowest|top|best|worst|compare|share)\b/g

function weighSql(profile: Profile, request: string, profiles: readonly Profile[], chain: readonly string[]): Choice | undefined {
  const tables = parseTables(profile.tool.description)
  let reading: Reading | undefined
  for (const question of [...chain, request]) {
    const next: Reading | undefined = readQuestion(withoutPaths(question), tables, reading?.table)
    reading = next && reading ? merge(reading, next) : (next ?? reading)
  }
  if (!reading) return undefined
  const figures = reading.aggregate !== undefined || reading.groups.length > 0 || reading.order !== undefined ? 1.5 : 0
  const hits = [...new Set(reading.hits)]
  const nameScore = hits.filter((hit) => profile.name.has(stem(hit))).length * 2
  const score = hits.length * 2.5 + figures + nameScore + addressed(profile, request) * (profiles.length > 1 ? 1 : 0)
  return {
    tool: profile.tool,
    input: { sql: writeSelect(reading) },
    evidence: [...new Set([...(request.toLowerCase().match(figureWords) ?? []), ...hits])],
    score,
  }
}

const asks =
  /^(what|how|who|whom|whose|when|where|which|why|can|may|must|do|does|did|is|are|should|am|will|would|tell me|explain|find|look up|search)\b|\?\s*$/i

/** A question without known words is still worth a search, if there is a search tool. */
function searchAnyway(request: string, profiles: readonly Profile[]): Choice | undefined {
  const search = profiles.find((profile) => profile.isSearch)
  if (!search || !asks.test(request.trim()) || stemsOf(request).size === 0) return undefined
  const filled = fillArguments(search.tool.schema, request)
  return filled && { tool: search.tool, input: filled.input, evidence: [...stemsOf(request)].slice(0, 3), score: 1 }
}
