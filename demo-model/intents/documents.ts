import { isObject } from '../../src/json/shape.ts'
import type { ToolMessage } from '../../src/agent/messages.ts'
import type { ToolOffer } from '../../src/agent/model.ts'
import { describeResult, parseJson } from '../answers/answer.ts'
import { quotePassage, quotePassages, type Passage } from '../answers/passages.ts'
import { fillArguments } from '../arguments.ts'
import { findPhrase, phrases } from '../language/phrases.ts'
import { setOf, isStopWord, readWords, stemsOf } from '../language/words.ts'
import { scores, type Part, type Reading } from '../part.ts'
import { isSearch, weigh } from '../tools.ts'
import { toTopic } from '../topic.ts'
import { said, sure, unsure, type Answer, type Call, type Work } from '../work.ts'

/** Beginnings of questions about what is allowed, owed or done. Documents answer them, even if a table has the same words. */
const policy = phrases(
  'can i|can we|may i|may we|could i|am i|are we allowed|is it|do i|do we|must i|must we|should i|have to|what happens|how do i|how do we|how long|who approves|' +
    'whom do i|who do i|when do i|when does|where do i|policy|rule|rules|allowed|what if|are there rules|how soon|how late|how early|how far|what does it cost|' +
    'do you|can you return|how much is|how much are|how much does|may|must|should|can a|do customers|do employees|who pays|what about|can customers|can people|can employees',
)
const asks = setOf(
  'what how who whom whose when where which why can may must do does did is are should am will would tell explain find look search say describe',
)

/** Questions that documents answer. Several search tools are several readings. */
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

/** "Where does it say so?": the passages that the answer before quotes. */
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
  for (const wanted of topics) {
    const answer = yield* quote(tool, part.text, wanted, evidence)
    if (answer) return answer
  }
  return unsure(`I found nothing about “${topic}” with ${tool.name}.`)
}

/** Share of the weight of a question's words that a passage must have to count as its answer. */
const minCoverage = 0.5
/** Score from which a passage fits by its meaning, whatever its words are. */
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
  const said = stemsOf(quoted)
  const missing = readWords(withoutFillers(topic)).filter(({ text }) => [...stemsOf(text)].some((stem) => !said.has(stem)))
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
    const { file = '', heading = '', text: own, score } = passage
    return [{ file: String(file), heading: String(heading), text: own, score: Number(score ?? 0) }]
  })
}
