import type { JsonObject } from '../agent/messages.ts'
import type { ToolOffer } from '../agent/model.ts'
import { listed } from '../json/schema/schema-nodes.ts'
import { fillArguments, type FilledArguments } from './arguments.ts'
import { withDigits } from './language/number-words.ts'
import { claimWhere, claim, findPhrase, phrases } from './language/phrases.ts'
import { setOf, readWords, stem, unusedOf, wordsOf, type Word } from './language/words.ts'

/** Decides whether a sentence orders a call that changes something. Anything less than a plain order is asked back. */

export interface Order {
  tool: ToolOffer
  input: JsonObject
  /** Required parameters that the sentence does not give. */
  missing: string[]
  /** True for an imperative that gives all of the input in words that say it, and nothing else. */
  isPlain: boolean
  /** True for "do not ...". */
  isNegated: boolean
  /** Words that neither the tool nor its input explains. */
  unused: string[]
}

/** Verbs with the same meaning. */
const sameVerbs = [
  'delete remove erase drop',
  'create add make open new register',
  'update change edit modify set',
  'send email mail',
  'cancel abort',
].map((line) => new Set(line.split(' ').map(stem)))
const courtesies = setOf("please now then ok okay hey hi hello and also just kindly so well yes agent do not don't never")
const requests = phrases(
  "can you|could you|would you|will you|can i|i want to|i want you to|i would like to|i would like you to|i like you to|i need to|i need you to|let's|we need to|we should|you should|you can|you may|i like to",
)
const negations = setOf(
  "not don't never no without stop avoid cannot can't won't shouldn't doesn't didn't isn't neither nor hardly unless if when",
)
const generic = new Set('make issue do give process create start run perform place book request'.split(' ').map(stem))

/** The order that a sentence gives to one of the tools that change something; undefined for any other sentence. */
export function readOrder(sentence: string, tools: readonly ToolOffer[]): Order | undefined {
  const orders = tools.flatMap((tool) => readOrderFor(sentence, tool) ?? [])
  const rank = ({ missing, isPlain, input }: Order) => (isPlain ? 100 : 0) + Object.keys(input).length - missing.length * 2
  return orders.toSorted((a, b) => rank(b) - rank(a))[0]
}

function readOrderFor(sentence: string, tool: ToolOffer): Order | undefined {
  const words = readWords(withDigits(sentence))
  const { rest, isRequest } = headOf(words)
  const passive = passiveOf(words)
  const verb = passive ?? rest[0]
  const name = wordsOf(tool.name.split('__').at(-1)!)
  if (!verb || name.length === 0) return undefined
  const described = tool.description.split(':').map((clause) => stem(wordsOf(clause)[0] ?? ''))
  const isNamed = isSame(verb.stem, stem(name[0]!))
  const isVerb = isNamed || described.some((word) => isSame(verb.stem, word))
  const isNoun = generic.has(verb.stem) && rest.slice(1, 4).some((word) => word.stem === stem(name[0]!))
  if (!isVerb && !isNoun) return undefined
  claim([verb, ...words.filter(({ lower }) => courtesies.has(lower))], 'order')
  const objects = isNamed ? name.slice(1) : name
  const isAbout = objects.every((object) => words.some((word) => word.stem === stem(object)))
  const filled = fillArguments(tool.schema, sentence, words)
  // "Delete the file" is no order for a tool that deletes customers.
  if (!isAbout && filled.stated.length === 0) return undefined
  const stems = new Set(objects.map(stem))
  claimWhere(words, 'order', (word) => stems.has(word.stem))
  addAddress(filled, tool, sentence, words)
  const { input, missing } = filled
  const stated = new Set([...filled.stated, ...objectsOf(input, words, verb, objects)])
  const isNegated = words.some(({ lower }) => negations.has(lower))
  const isImperative = isVerb && !passive && !isRequest && !isNegated && !sentence.includes('?')
  const isWhole = missing.length === 0 && Object.keys(input).every((key) => stated.has(key))
  const unused = unusedOf(words).map(({ text }) => text)
  return { tool, input, missing, isNegated, isPlain: isImperative && isWhole && unused.length === 0, unused }
}

/** The parameter that stands directly behind the verb: in "Restock Mint Garden" the product of `restock_product`. */
function objectsOf(input: JsonObject, words: readonly Word[], verb: Word, objects: readonly string[]): string[] {
  const next = words.slice(words.indexOf(verb) + 1).find(({ lower }) => !['the', 'a', 'an', ...objects].includes(lower))
  return Object.keys(input).filter(
    (name) => wordsOf(name).some((part) => objects.includes(part)) && String(input[name]).startsWith(next?.text ?? '\0'),
  )
}

/** "to 14 Mill Lane, Glasgow": as many texts as the sentence has not stated yet, divided by commas. */
function addAddress(filled: FilledArguments, tool: ToolOffer, sentence: string, words: readonly Word[]): void {
  const [, behind = ''] = /^[^]* to ([^]*?)[.!]?$/.exec(sentence.slice(0, 2_000)) ?? []
  const parts = behind.split(',').map((part) => part.trim())
  const required = listed(tool.schema, 'required').map(String)
  const names = required.filter((name) => !filled.stated.includes(name))
  if (parts.length < 2 || names.length !== parts.length || parts.includes('')) return
  for (const [index, name] of names.entries()) filled.input[name] = parts[index]!
  filled.stated.push(...names)
  filled.missing = []
  const inside = new Set(readWords(withDigits(behind)).map(({ lower }) => lower))
  claimWhere(words, 'argument', ({ lower }) => inside.has(lower) || lower === 'to')
}

/** The verb of "order O-3347 should be cancelled". */
function passiveOf(words: readonly Word[]): Word | undefined {
  const found = findPhrase(words, phrases('should be|must be|shall be|to be'))
  return found && found.at > 0 ? words[found.at + 2] : undefined
}

function isSame(a: string, b: string): boolean {
  return a === b || sameVerbs.some((verbs) => verbs.has(a) && verbs.has(b))
}

/** The sentence from its verb on, without courtesies, negations and "can you". */
function headOf(words: readonly Word[]): { rest: readonly Word[]; isRequest: boolean } {
  let rest = words
  let isRequest = false
  for (;;) {
    const request = findPhrase(rest.slice(0, 5), requests)
    if (request?.at === 0) isRequest = true
    else if (!courtesies.has(rest[0]?.lower ?? '')) return { rest, isRequest }
    rest = rest.slice(request?.at === 0 ? request.words.length : 1)
  }
}

const asks = 'Shall I run'
const needs = 'Please tell me the'

/** The question before a call that was not ordered plainly. */
export function proposalOf({ tool, input, missing }: Order): string {
  if (missing.length > 0)
    return `${needs} ${missing.map((name) => name.replaceAll('_', ' ')).join(' and the ')}: \`${tool.name}\` needs it.`
  const parts = Object.entries(input).map(([name, value]) => `${name} ${typeof value === 'string' ? `“${value}”` : JSON.stringify(value)}`)
  return `${asks} \`${tool.name}\`${parts.length > 0 ? ` with ${parts.join(', ')}` : ''}? Please answer yes or no.`
}

/** True for an answer that asked whether to make a call. */
export function isProposal(answer: string): boolean {
  return answer.startsWith(asks)
}

/** True for an answer that asked for input. */
export function asksForMore(answer: string): boolean {
  return answer.startsWith(needs)
}

const consents = /^(?:y|yes|yep|yeah|sure|ok|okay|do|go|please do|confirm|confirmed|correct|of course|run|i confirm)\b/
const consenting = setOf(
  'y yes yep yeah sure ok okay do it that go ahead on for please confirm confirmed correct of course run i am is right',
)
const refusals = /^(?:n|no|nope|stop|cancel|do not|don't|never mind)(?: thanks| thank you| do not| don't)?$/

/** True for a plain yes, false for a plain no, undefined for anything else. */
export function readConsent(text: string): boolean | undefined {
  if (text.length > 40 || text.includes('?')) return undefined
  const words = readWords(text).map(({ lower }) => lower)
  if (refusals.test(words.join(' '))) return false
  return consents.test(words.join(' ')) && words.every((word) => consenting.has(word)) ? true : undefined
}
