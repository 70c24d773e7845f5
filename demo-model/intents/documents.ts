import type { JsonObject, ToolMessage } from '../../src/agent/messages.ts'
import type { ToolOffer } from '../../src/agent/model.ts'
import { listed } from '../../src/json/schema/schema-nodes.ts'
import { isObject } from '../../src/json/shape.ts'
import { describeResult, parseJson } from '../answers/answer.ts'
import { quotePassage, quotePassages, type Passage } from '../answers/passages.ts'
import { isPath, quotedIn, toTopic } from '../argument-words.ts'
import { fillArguments } from '../arguments.ts'
import { closest, findPhrase, phrases } from '../language/phrases.ts'
import { isStopWord, readWords, setOf, stemsOf } from '../language/words.ts'
import { reported, said, scores, sure, tried, unsure, type Answer, type Call, type Part, type Reading, type Work } from '../part.ts'
import { findWith, isSearch, weigh } from '../tools.ts'

/** Beginnings of questions about what is allowed, owed or done. Documents answer them, even if a table has the same words. */
const policy = phrases(
  'can i|can we|may i|may we|could i|am i|are we allowed|is it|do i|do we|must i|must we|should i|have to|what happens|how do i|how do we|how long|who approves|' +
    'whom do i|who do i|when do i|when does|where do i|policy|rule|rules|allowed|what if|are there rules|how soon|how late|how early|how far|what does it cost|' +
    'do you|can you return|how much is|how much are|how much does|may|must|should|can a|do customers|do employees|who pays|what about|can customers|can people|can employees',
)
const asks = setOf(
  'what how who whom whose when where which why can may must do does did is are should am will would tell explain find look search say describe',
)

/** Questions for documents. Several search tools are several readings. */
export function readDocuments(part: Part): Reading[] {
  if (asksSource.test(part.text)) return [{ score: scores.exact, work: () => nameSources(part.turns.at(-1)?.answer ?? '') }]
  const words = readWords(part.text)
  const isPolicy = findPhrase(words.slice(0, 3), policy) !== undefined
  const isAsked = (part.text.includes('?') || asks.has(words[0]?.lower ?? '') || part.isFollowUp) && stemsOf(part.text).size > 0
  return part.profiles.filter(isSearch).flatMap(({ tool, ...profile }) => {
    const { score, evidence } = weigh({ tool, ...profile }, part.text, part.profiles)
    if (score < 2 && !isAsked) return []
    return { score: Math.max(score, 1) + (isPolicy ? 4 : 0), work: () => search(tool, part, evidence) }
  })
}

const asksSource =
  /^(?:and )?where (?:does it|does that|is it|is that|is this|did you|do you|was that)\b.*\b(?:says?|written|stands?|find|found|read|from)(?: so| that| this)?\W*$/i

/** "Where does it say so?": the passages of the answer before. */
function nameSources(answer: string): Work {
  const sources = [...answer.matchAll(/^\*\*(.+)\*\* \(`([^`\n]+)`\)$/gm)].map(([, heading, file]) => `in \`${file}\` under “${heading}”`)
  return said(sources.length > 0 ? `It is ${sources.join(', and ')}.` : 'My last answer quotes no document.')
}

/** Searches for the topic of the part, and where that finds nothing, for it together with the question before. */
function* search(tool: ToolOffer, part: Part, evidence: readonly string[]): Work {
  const before = part.earlier.at(-1) ?? part.turns.at(-1)?.question
  const topic = topicOf(tool, part.text)
  const joined = before === undefined || stemsOf(topic).size > 4 ? undefined : `${topicOf(tool, before)} ${topic}`
  // "How many can I carry over?" leaves its subject to the question before.
  const isElliptic = /^how (?:many|much) (?:of|do|does|is|are|can|may|must|will)\b/i.test(part.text) && stemsOf(part.text).size <= 3
  const topics = isElliptic && joined !== undefined ? [joined] : [topic, ...(joined === undefined ? [] : [joined])]
  for (const topic of topics) {
    const answer = yield* quote(tool, part.text, topic, evidence)
    if (answer) return answer
  }
  return unsure(`I found nothing about “${topic}” with ${tool.name}.`)
}

/** Share of the weight of a question's words that a passage must have to count as an answer. */
const minCoverage = 0.5
/** Score from which a passage fits by meaning alone. */
const minScore = 0.55
/** Score from which a passage is shown as the nearest one, without the claim that it fits. */
const nearScore = 0.1

function* quote(
  tool: ToolOffer,
  text: string,
  topic: string,
  evidence: readonly string[],
): Generator<Call, Answer | undefined, ToolMessage> {
  const { input } = fillArguments(tool.schema, text)
  const query = Object.keys(input).find((name) => input[name] === toTopic(text))
  const result = yield { tool, input: query === undefined ? input : { ...input, [query]: topic }, evidence }
  const passages = passagesIn(result)
  if (!passages) return { text: describeResult(text, { query: topic }, result), isSure: !result.isError }
  const quoted = quotePassages(withoutFillers(topic), passages)
  if (quoted && quoted.coverage >= minCoverage) return sure(withMissing(quoted.text, topic))
  const [best] = passages
  if (!best || (best.score ?? 0) < nearScore) return undefined
  const nearest = withMissing(quotePassage(best, [...stemsOf(topic)]), topic)
  return (best.score ?? 0) >= minScore ? sure(nearest) : unsure(`No passage surely answers this. The nearest one:\n\n${nearest}`)
}

/** A quote answers a question only as far as it speaks of the same things: words that it does not have are named. */
function withMissing(quoted: string, topic: string): string {
  const quotedStems = stemsOf(quoted)
  const missing = readWords(withoutFillers(topic)).filter(({ text }) => [...stemsOf(text)].some((stem) => !quotedStems.has(stem)))
  const names = [...new Set(missing.map(({ text }) => `“${text}”`))]
  return names.length === 0 ? quoted : `${quoted}\n\nI did not find ${names.join(', ')} in it.`
}

const fillers = setOf(
  'long take takes taking happen happens allowed possible mean means work works say says need needs needed entitled exactly currently rule rules policy policies company employee employees staff customer customers someone somebody anyone person people really actually ok okay thing something anything usual usually generally',
)

/** A topic without words that any rule may have, unless nothing else is left. */
function withoutFillers(topic: string): string {
  const words = readWords(topic).filter(({ lower }) => !fillers.has(lower))
  return words.some(({ lower }) => !isStopWord(lower)) ? words.map(({ text }) => text).join(' ') : topic
}

function topicOf({ name }: ToolOffer, text: string): string {
  const topic = toTopic(text)
  return topic.toLowerCase().startsWith(`${name} `) ? topic.slice(name.length + 1) : topic
}

function passagesIn({ text, isError }: ToolMessage): Passage[] | undefined {
  const output = parseJson(text)
  if (isError || !isObject(output) || !Array.isArray(output['passages'])) return undefined
  return output['passages'].flatMap((passage) => {
    if (!isObject(passage) || typeof passage['text'] !== 'string') return []
    const { file = '', heading = '', text: passageText, score } = passage
    return [{ file: String(file), heading: String(heading), text: passageText, score: Number(score ?? 0) }]
  })
}

const asksList = phrases(
  'list files|list the files|list all files|list your files|list my files|show files|show the files|show me the files|show all files|what files|which files|' +
    'files are there|files do you have|files can you read|files can you see|see the files|files exist',
)
const leads = new Set(['in', 'under', 'inside', 'of', 'the', 'folder', 'directory'])

/** Lists and reads files. A name without its folder is looked up, and read if a single file has it. */
export function readFiles(part: Part): Reading | undefined {
  const words = readWords(part.text)
  const optional = part.tools.filter(({ schema }) => listed(schema, 'required').length === 0)
  const [lists, reads] = [findWith(optional, 'path'), findWith(part.tools, 'path', 'offset')]
  const listPhrase = lists && findPhrase(words, asksList)
  if (listPhrase) {
    // "in handbook", "in the folder handbook", "in the handbook folder"
    const rest = words.slice(listPhrase.at + listPhrase.words.length)
    const folder = rest.find(({ lower }, at) => leads.has(rest[at - 1]?.lower ?? '') && !leads.has(lower))?.text
    const input: JsonObject = folder === undefined ? {} : { path: folder }
    return { score: scores.exact, work: () => reported({ tool: lists, input, evidence: ['files'] }, part.text) }
  }
  const quoted = quotedIn(part.text)
  const isQuoted = quoted !== undefined && isPath(quoted) && !quoted.includes('  ')
  const path = isQuoted ? quoted : words.find(({ text }) => isPath(text) && !text.includes('://'))?.text
  if (!reads || path === undefined || part.outlined.includes(path)) return undefined
  return { score: scores.given, work: () => readFile(path, part.text, reads, lists) }
}

function* readFile(name: string, text: string, reads: ToolOffer, lists: ToolOffer | undefined): Work {
  const isBare = !name.includes('/') && lists
  const paths = isBare ? pathsIn(yield { tool: lists, input: {}, evidence: [name] }) : []
  const equal = paths.filter((path) => baseOf(path) === name.toLowerCase())
  if (equal.length > 1) return unsure(`Which file do you mean: ${equal.map((path) => `\`${path}\``).join(' or ')}?`)
  if (equal.length === 0 && paths.length > 0) {
    const [near] = closest(name.toLowerCase(), paths.map(baseOf))
    return unsure(`There is no file \`${name}\` among those that I can read.${near === undefined ? '' : ` Did you mean \`${near}\`?`}`)
  }
  const path = equal[0] ?? name
  return yield* tried({ tool: reads, input: { path }, evidence: [path] }, text.replace(name, path))
}

function baseOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1).toLowerCase()
}

function pathsIn({ text, isError }: ToolMessage): string[] {
  const output = parseJson(text)
  if (isError || !isObject(output) || !Array.isArray(output['files'])) return []
  return output['files'].map((file) => String(isObject(file) ? (file['path'] ?? file['name'] ?? '') : file))
}
