import type { ToolOffer } from '../src/agent/model.ts'
import { answerFromStatements, answerFromTexts, asksForAll, describeResult } from './answers/answer.ts'
import { toTopic } from './argument-words.ts'
import { fillArguments, isFreeText } from './arguments.ts'
import { findExpression } from './expression.ts'
import { readChange, readConsentTo } from './intents/changes.ts'
import { readClock } from './intents/clock.ts'
import { readNames, readSave } from './intents/commands.ts'
import { readDocuments, readFiles } from './intents/documents.ts'
import { readTables } from './intents/tables.ts'
import { reported, said, scores, sure, tried, type Intent, type Part, type Reading, type Work } from './part.ts'
import { findWith, isReader, isSearch, isSubAgent, weigh, type Profile } from './tools.ts'

/** All kinds of questions. Each is read by its own file; the reading with the highest score is tried first. */
export const intents: readonly Intent[] = [
  { name: 'consent', examples: ['yes', 'no'], read: readConsentTo },
  { name: 'named tool', examples: ['Use save_note with text "Buy milk"'], read: readNames },
  { name: 'change', examples: ['Cancel order O-1002', 'Please do not cancel order O-1002', 'Delete all sales'], read: readChange },
  { name: 'save', examples: ['Write "hello" to hello.txt', 'Make a CSV file with the sales by region'], read: readSave },
  { name: 'memories', examples: ['What do you know about me?'], read: readMemories },
  { name: 'texts', examples: ['Summarise the file'], read: readTexts },
  { name: 'statement', examples: ['My name is Ada.', 'What is my name?'], read: readStatement },
  {
    name: 'arithmetic',
    examples: ['What is 17% of 2,340?', 'three hundred and twelve times four', 'Convert 5 km to miles'],
    read: readArithmetic,
  },
  { name: 'clock', examples: ['What time is it in Tokyo?', 'How many days until Christmas?'], read: readClock },
  { name: 'files', examples: ['List the files', 'Show me products.csv', 'Read handbook/leave.md'], read: readFiles },
  {
    name: 'tables',
    examples: ['Total sales by region', 'Which month was the worst?', 'Who are our customers in Leeds?'],
    read: readTables,
  },
  { name: 'documents', examples: ['How many days of leave do I get?', 'Can I expense a taxi?'], read: readDocuments },
  { name: 'other tool', examples: ['Get order 4711', 'How is the weather in New Delhi?'], read: readOtherTool },
]

/** Calculations and conversions of units. */
function readArithmetic(part: Part): Reading | undefined {
  const tool = findWith(part.tools, 'expression')
  if (!tool || /\w(?:st|nd|rd|th) (?:quarter|half) of\b/i.test(part.text)) return undefined
  let request = part.text
  let last = part.earlier[0]
  for (const text of last === undefined ? [] : [...part.earlier.slice(1), part.text]) request = last = continueWith(last!, text) ?? text
  const calculation = findExpression(request)
  if (!calculation) return undefined
  // An expression inside of a question about something else is not the question.
  return {
    score: calculation.isAll || request !== part.text ? scores.exact : 3,
    work: () => calculate(tool, request, calculation.expression),
  }
}

function* calculate(tool: ToolOffer, request: string, expression: string): Work {
  const input = { expression }
  const result = yield { tool, input, evidence: [expression] }
  return sure(describeResult(request, input, result), /"result":\s*"?(-?\d+(?:\.\d+)?)/.exec(result.text)?.[1])
}

/** The calculation before, continued: "and times 10?" goes on with the result, "and 20%?" replaces the number of the same kind. */
function continueWith(last: string, text: string): string | undefined {
  const before = findExpression(last)
  if (!before) return undefined
  const bare = text.replace(/^(?:(?:and|then|now|but|ok|so|that|what is|what about|how about|it)\s+)+/i, '')
  const continued = findExpression(`1 ${bare}`)
  if (continued?.isAll && /^1 [-+*/^]/.test(continued.expression)) return `(${before.expression})${continued.expression.slice(1)}`
  const [digits] = /\d[\d,]*(?:\.\d+)?\s*%?/.exec(text) ?? []
  if (!/^(?:and|what about|how about|or) /i.test(text) || findExpression(bare) || !digits) return undefined
  const isPercent = digits.endsWith('%')
  const matches = [...last.matchAll(/\d[\d,]*(?:\.\d+)?(\s*%)?/g)].filter((match) => (match[1] !== undefined) === isPercent)
  const match = isPercent ? matches[0] : matches.at(-1)
  return match && last.slice(0, match.index) + digits.trim() + last.slice(match.index + match[0].length)
}

/** Least weight of a fitting tool. */
const threshold = 2.5
const ownIntents = [['sql'], ['expression'], ['timezone'], ['path'], ['file_name', 'content'], ['spec', 'data']]

/** All further tools that only read: OpenAPI operations, MCP tools, modules, sub-agents. */
function readOtherTool(part: Part): Reading[] {
  // No tool tells reasons.
  if (/^why\b/i.test(part.text)) return []
  const readers = part.profiles.filter((profile) => isReader(profile.tool) && !isSearch(profile) && !isOwn(profile))
  return readers.flatMap((profile) => readTool(profile, part) ?? [])
}

function isOwn({ parameters }: Profile): boolean {
  return ownIntents.some((names) => names.every((name) => parameters.includes(name)))
}

function readTool(profile: Profile, part: Part): Reading | undefined {
  const { tool } = profile
  const last = part.earlier.at(-1)
  const request = part.isFollowUp && last !== undefined ? `${toTopic(last)} ${toTopic(part.text)}` : part.text
  const { score, evidence } = weigh(profile, request, part.profiles)
  if (score < (isSubAgent(tool) ? 4 : threshold)) return undefined
  const filled = fillArguments(tool.schema, request)
  if (filled.missing.length > 0)
    return {
      score: score - 2,
      work: () => said(`To use \`${tool.name}\` I need ${filled.missing.map((name) => `\`${name}\``).join(' and ')}.`, false),
    }
  const stated = filled.stated.filter((name) => !isFreeText(name)).length
  const guessed = profile.required.filter((name) => !filled.stated.includes(name) && !isFreeText(name)).length
  return {
    score: score + 2 * stated + (guessed > 0 ? 1 : 0),
    work: () => tried({ tool, input: filled.input, evidence }, request),
  }
}

/** Answers from the conversation itself: memories, attached texts, statements of the person. */

function readMemories({ text, memories }: Part): Reading | undefined {
  const answer = describeMemories(text, memories)
  return answer === undefined ? undefined : { score: scores.order, work: () => said(answer) }
}

/** Texts that came with the question, or the file of which only an outline came. */
function readTexts(part: Part): Reading | undefined {
  const answer = answerFromTexts(part.text, part.texts)
  if (answer !== undefined) return { score: scores.given, work: () => said(answer) }
  const [path] = part.outlined
  // The tool for attached files comes last in the list. The configured file tool may have no access to the file.
  const tool = findWith(part.tools.toReversed(), 'path', 'offset')
  if (path === undefined || !tool) return undefined
  return { score: asksForAll(part.text) ? scores.given : 8, work: () => reported({ tool, input: { path }, evidence: [path] }, part.text) }
}

/** Facts about the person, and questions about such facts. */
function readStatement({ text, turns, memories, summary }: Part): Reading | undefined {
  const statements = turns.flatMap(({ question }) => (question.includes('?') ? [] : [question]))
  const answer = answerFromStatements(text, [summary, ...statements].join('\n'), memories.map(toSecondPerson))
  return answer === undefined ? undefined : { score: 4, work: () => said(answer) }
}

/** Memories about the user in the second person: stored memories say "the user". */

const verbs: [RegExp, string][] = [
  [/^The user is\b/, 'You are'],
  [/^The user has\b/, 'You have'],
  [/^The user (?:does|did) not\b/, 'You do not'],
  [/^The user wishes: /, 'You asked for: '],
  // Removes the ending of "lives", "works at" and "prefers".
  [/^The user (\p{Ll}+(?:[^s\P{L}]|ss))es\b(?<=[sxz]es|ches|shes)/u, 'You $1'],
  [/^The user (\p{Ll}+)ies\b/u, 'You $1y'],
  [/^The user (\p{Ll}+[^s\P{L}])s\b/u, 'You $1'],
  [/^The user's\b/, 'Your'],
]

export function toSecondPerson(sentence: string): string {
  const [pattern, begin] = verbs.find(([form]) => form.test(sentence)) ?? ['', '']
  return sentence
    .replace(pattern, begin)
    .replace(/\bthe user's\b/gi, 'your')
    .replace(/\bthe user\b/gi, 'you')
}

/** A longer message contains texts, and is no question about memories. */
const maxQuestion = 600

/** Lists all memories on request. */
function describeMemories(question: string, memories: readonly string[]): string | undefined {
  if (memories.length === 0 || question.length > maxQuestion) return undefined
  const isAsked = /\b(?:know|remember|learned|learnt)\b[^?.!]*\b(?:about|of) me\b|^\W*who am i\b/i.test(question)
  return isAsked
    ? `From earlier conversations I know:\n\n${memories.map((sentence) => `- ${toSecondPerson(sentence)}`).join('\n')}`
    : undefined
}
