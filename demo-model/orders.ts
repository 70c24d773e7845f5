import type { JsonObject, JsonSchema } from '../src/agent/messages.ts'
import type { ToolOffer } from '../src/agent/model.ts'
import { listed, named } from '../src/json/schema/schema-nodes.ts'
import { claimText, prefixOf } from './argument-words.ts'
import { fillArguments, isFreeText, typeOf, type FilledArguments } from './arguments.ts'
import { claim, claimWhere, findPhrase, isNumber, phrases, withDigits } from './language/phrases.ts'
import { readWords, setOf, stem, stemsOf, unusedOf, wordsOf, type Word } from './language/words.ts'
import type { Call } from './part.ts'

/** Reads which call that changes something a sentence orders, for a proposal. */

export interface Order {
  tool: ToolOffer
  input: JsonObject
  /** Required parameters without a value in the sentence. */
  missing: string[]
  /** True for "do not ...". */
  isNegated: boolean
  /** Identifiers of which the sentence may mean any. */
  choices?: readonly string[]
  /** Words without a meaning for the tool and its input. */
  unused: string[]
}

/** Verbs with the same meaning. */
const sameVerbs = [
  'delete remove erase drop',
  'create add put make open new register',
  'update change edit modify set',
  'send email mail',
  'cancel abort',
].map((line) => new Set(line.split(' ').map(stem)))
const courtesies = setOf(
  "please pls plz now then ok okay hey hi hello and also just kindly so well yes agent do not don't dont never thank thanks much",
)
const requests = phrases(
  "can you|could you|would you|will you|can i|i want to|i want you to|i would like to|i would like you to|i like you to|i need to|i have to|i must|i need you to|let's|we need to|we should|you should|you can|you may|i like to",
)
const negations = setOf('not never no without stop avoid cannot neither nor hardly')
const contraction = /^(?:do|does|did|is|are|was|were|has|have|ca|wo|would|should|could|must|need)n'?t$/
const wishes = phrases('wants|want|wishes|would like|needs')
const generic = new Set('make issue do give process create start run perform place book request'.split(' ').map(stem))

/** The order of a sentence to a tool that changes something; undefined for any other sentence. */
export function readOrder(sentence: string, tools: readonly ToolOffer[]): Order | undefined {
  const orders = tools.flatMap((tool) => readOrderFor(sentence, tool) ?? [])
  const rank = ({ missing, input, unused }: Order) => Object.keys(input).length - missing.length * 2 - unused.length
  return orders.toSorted((a, b) => rank(b) - rank(a))[0]
}

function readOrderFor(sentence: string, tool: ToolOffer): Order | undefined {
  const words = readWords(withDigits(sentence.replace(/\bset up\b/i, 'create')))
  const [, main = sentence] = /^(?:if|when|unless|once) [^,]*,(?: then)? (.+)$/is.exec(sentence) ?? []
  const orderWords = words.slice(-readWords(withDigits(main)).length)
  const rest = headOf(orderWords)
  const verb = passiveOf(words) ?? rest[0]
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
  const filled = fillArguments(tool.schema, sentence, { words })
  const object = isNamed ? addObject(filled, tool, { sentence, words, verb, objects }) : []
  const stated = new Set([...filled.stated, ...objectsOf(filled.input, words, verb, objects), ...object])
  // "Delete the file" is no order for a tool that deletes customers.
  if (!isAbout && stated.size === 0) return undefined
  const stems = new Set(objects.map(stem))
  claimWhere(words, 'order', (word) => stems.has(word.stem))
  for (const part of addAddress(filled, tool, sentence, words)) stated.add(part)
  dropGuessedTexts(filled, tool, stated)
  const { input, missing } = filled
  // "Cancel O-1, the customer does not want it any more": what a reason denies is not the order.
  const reason = /,\s+(?:because|since|as|the|an?|he|she|they)\s[^]*$/i.exec(sentence)?.[0] ?? ''
  const isNegated = orderWords.slice(0, orderWords.length - readWords(withDigits(reason)).length).some(isNegation)
  const explained = stemsOf(tool.description)
  const unused = unusedOf(words).flatMap((word) => (explained.has(word.stem) ? [] : [word.text]))
  return { tool, input, missing, isNegated, unused }
}

function isNegation({ lower }: Word): boolean {
  return negations.has(lower) || contraction.test(lower)
}

/** A text that the sentence does not state is never guessed: the person is asked for it. */
function dropGuessedTexts({ input, missing }: FilledArguments, tool: ToolOffer, stated: ReadonlySet<string>): void {
  for (const name of Object.keys(input).filter((parameter) => isFreeText(parameter) && !stated.has(parameter))) {
    delete input[name]
    if (listed(tool.schema, 'required').includes(name)) missing.push(name)
  }
}

/** The parameter that stands directly behind the verb: in "Restock Mint Garden" the product of `restock_product`. */
function objectsOf(input: JsonObject, words: readonly Word[], verb: Word, objects: readonly string[]): string[] {
  const next = words
    .slice(words.indexOf(verb) + 1)
    .find((word) => !isNumber(word) && !['the', 'a', 'an', 'more', ...objects].includes(word.lower))
  return Object.keys(input).filter(
    (name) => wordsOf(name).some((part) => objects.includes(part)) && String(input[name]).startsWith(next?.text ?? '\0'),
  )
}

interface OrderWords {
  sentence: string
  words: readonly Word[]
  verb: Word
  objects: readonly string[]
}

/** A name without capitals: "restock mint garden, 5 pieces". */
function addObject({ input, missing }: FilledArguments, { schema }: ToolOffer, { sentence, words, verb, objects }: OrderWords): string[] {
  const properties = named(schema, 'properties') as Record<string, JsonSchema>
  const name = missing.find(
    (parameter) => wordsOf(parameter).some((part) => objects.includes(part)) && typeOf(properties[parameter]) === 'string',
  )
  const rest = sentence.slice(sentence.indexOf(verb.text) + verb.text.length)
  const [, value] = /^ (?:the )?([\p{L}][\p{L} '’-]*?)(?=,|[.!?]*$| (?:\d|by |with |to |for |from |at |in ))/u.exec(rest) ?? []
  if (name === undefined || value === undefined || prefixOf(properties[name]!) !== '' || stemsOf(value).size === 0) return []
  input[name] = value
  missing.splice(missing.indexOf(name), 1)
  claimText(value, words)
  return [name]
}

/** "to 14 Mill Lane, Glasgow": as many texts as the sentence has not stated yet, divided by commas. Returns their parameters. */
function addAddress(filled: FilledArguments, tool: ToolOffer, sentence: string, words: readonly Word[]): string[] {
  const [, rest = ''] = /^[^]* to ([^]*?)[.!]?$/.exec(sentence.slice(0, 2_000)) ?? []
  const parts = rest.split(',').map((part) => part.trim())
  const properties = named(tool.schema, 'properties') as Record<string, JsonSchema>
  const open = listed(tool.schema, 'required').map(String)
  const names = open.filter((name) => !filled.stated.includes(name) && typeOf(properties[name]) === 'string')
  if (parts.length < 2 || names.length !== parts.length || parts.includes('')) return []
  for (const [index, name] of names.entries()) filled.input[name] = parts[index]!
  filled.missing = []
  claimText(`to ${rest}`, words)
  return names
}

/** The verb of "order O-3347 should be cancelled" and of "she wants order O-3347 cancelled". */
function passiveOf(words: readonly Word[]): Word | undefined {
  const phrase = findPhrase(words, phrases('should be|must be|shall be|to be'))
  if (phrase && phrase.at > 0) return words[phrase.at + 2]
  const wish = findPhrase(words, wishes)
  return wish && words.slice(wish.at + 2).findLast(({ lower }) => lower.endsWith('ed'))
}

function isSame(a: string, b: string): boolean {
  return a === b || sameVerbs.some((verbs) => verbs.has(a) && verbs.has(b))
}

/** The sentence from its verb on, without courtesies, negations and "can you". */
function headOf(words: readonly Word[]): readonly Word[] {
  const request = findPhrase(words.slice(0, 5), requests)
  if (request?.at === 0) return headOf(words.slice(request.words.length))
  return courtesies.has(words[0]?.lower ?? '') ? headOf(words.slice(1)) : words
}

/** Questions before a change, and their answers. */

const asks = 'Shall I run'
const asksConsent = 'Please answer yes or no.'
const opening = 'Which one do you mean'
const needs = 'Please tell me the'
/** Characters of a shown value. */
const maxShown = 1_000

/** The question before a call, with each value. */
export function proposalOf({ tool, input }: Pick<Call, 'tool' | 'input'>): string {
  const parts = Object.entries(input).map(([name, value]) => {
    const text = typeof value === 'string' && !value.includes('\n') ? `“${value}”` : JSON.stringify(value)
    return `${name} ${text.length > maxShown ? `${text.slice(0, maxShown)}… (${text.length} characters)` : text}`
  })
  return `${asks} \`${tool.name}\`${parts.length > 0 ? ` with ${parts.join(', ')}` : ''}?`
}

/** The end of an answer that proposes calls; nothing without calls. */
export function propose(calls: readonly Call[]): string[] {
  return calls.length > 0 ? [[...new Set(calls.map(proposalOf)), asksConsent].join(' ')] : []
}

/** True for an answer with proposed calls. */
export function isProposal(answer: string): boolean {
  return answer.endsWith(asksConsent) && answer.includes(asks)
}

/** The question for what an order lacks; undefined for a complete order. */
export function questionOf({ tool, missing, choices = [] }: Pick<Order, 'tool' | 'missing' | 'choices'>): string | undefined {
  if (choices.length > 0) return `${opening}: ${choices.join(' or ')}?`
  if (missing.length === 0) return undefined
  return `${needs} ${missing.map((name) => name.replaceAll('_', ' ')).join(' and the ')}: \`${tool.name}\` needs it.`
}

/** True for an answer with a question for input. */
export function asksForMore(answer: string): boolean {
  return answer.startsWith(needs) || answer.startsWith(opening)
}

const consents = /^(?:y|yes|yep|yeah|sure|ok|okay|do|go|please do|confirm|confirmed|correct|of course|run|i confirm|all right|alright)\b/
const consenting = setOf(
  'y yes yep yeah sure ok okay do it that go ahead on for please confirm confirmed correct of course run i am is right all alright thanks thank you very so much',
)
const refusals =
  /^(?:n|no|nope|stop|cancel|do not|don't|never mind|forget it|leave it)(?: (?:thanks|thank you|do not|don't|stop|never mind|forget it|leave it))*$/

/** True for a plain yes, false for a plain no, undefined for anything else. */
export function readConsent(text: string): boolean | undefined {
  if (text.length > 40 || text.includes('?')) return undefined
  const words = readWords(text).map(({ lower }) => lower)
  if (refusals.test(words.join(' '))) return false
  return consents.test(words.join(' ')) && words.every((word) => consenting.has(word)) ? true : undefined
}
