import type { JsonObject, JsonSchema } from '../src/agent/messages.ts'
import { claim, claimWhere, isNumber, withDigits } from './language/phrases.ts'
import { currencies, isStopWord, readWords, setOf, stem, wordsOf, type Word } from './language/words.ts'

/** Finds and claims the words of a request that are the value of a parameter. */

export interface Request {
  text: string
  words: readonly Word[]
  /** The JSON object in the text. */
  json?: JsonObject | undefined
}

/** Claims the words of a text inside of the request. */
export function claimText(inside: string, words: readonly Word[]): void {
  const lower = new Set(readWords(withDigits(inside)).map((word) => word.lower))
  claimWhere(words, 'argument', (word) => word.use === undefined && lower.has(word.lower))
}

export function claimed(word: Word | undefined): string | undefined {
  if (word) word.use = 'argument'
  return word?.text
}

export function openNumbers(property: JsonSchema, words: readonly Word[]): Word[] {
  const isWhole = [property['type']].flat()[0] === 'integer'
  return words.filter((word) => isNumber(word) && word.use === undefined && (!isWhole || Number.isInteger(Number(word.lower))))
}

export function numberOf(word: Word | undefined): number | undefined {
  return word && Number(claimed(word)!.replace('%', ''))
}

/** The number beside the parameter's name, its currency or "top": "20 EUR", "top 3", "quantity 5". */
export function labelledNumber(name: string, property: JsonSchema, { words }: Request): number | undefined {
  const parts = wordsOf(name)
  const percent = words.find(({ lower, use }) => use === undefined && /^\d+(\.\d+)?%$/.test(lower))
  if (percent && parts.some((part) => ['percent', 'percentage', 'discount', 'rate'].includes(part))) return numberOf(percent)
  const isMoney = parts.some((part) => ['amount', 'price', 'total', 'sum', 'value'].includes(part) || currencies.has(part))
  const isLimit = /^(?:limit|top_?k?|max|max_?results|n|(?:page_?)?size)$/i.test(name)
  const labels = new Set([...parts.map(stem), ...(isMoney ? currencies : []), ...(isLimit ? ['top', 'first', 'result', 'passage'] : [])])
  const isLabel = (word: Word | undefined) => word !== undefined && (labels.has(word.stem) || labels.has(word.lower))
  const numbers = openNumbers(property, words)
  const near = numbers.find((word) => isLabel(words[words.indexOf(word) + 1])) ?? numbers.find((word) => isLabel(labelBefore(words, word)))
  if (near) claim(words.filter(isLabel), 'argument')
  return numberOf(near)
}

const fillers = setOf('is are = : with the a an to of at by number no nr id called named')

/** The word before a value, without "is", "number" and similar words. */
function labelBefore(words: readonly Word[], word: Word): Word | undefined {
  return words.slice(0, words.indexOf(word)).findLast(({ lower }, at) => at === 0 || !fillers.has(lower))
}

/** The date behind the name of the parameter ("from 2026-01-31"), else the first date. */
export function dateValue({ words }: Request, parts: readonly string[]): string | undefined {
  const dates = words.filter(({ lower, use }) => use === undefined && /^\d{4}-\d{2}-\d{2}$/.test(lower))
  return claimed(dates.find((word) => parts.includes(words[words.indexOf(word) - 1]?.lower ?? '')) ?? dates[0])
}

/** A word with the parameter's pattern, or behind the parameter's name: "order O-1001", "city Paris", "named Ada"; a reason behind "because". */
export function statedText(parts: readonly string[], property: JsonSchema, { text, words }: Request): string | undefined {
  const reason = parts.includes('reason') ? /\bbecause (?:of )?(.+)/i.exec(text) : null
  if (reason) claimText(reason[0], words)
  if (reason) return reason[1]!.replace(/(?<=.)[.!]$/, '')
  const prefix = prefixOf(property)
  const labels = new Set(parts.filter((part) => part !== 'id' || parts.length === 1).map(stem))
  if (labels.has('name')) for (const label of ['called', 'named']) labels.add(stem(label))
  // A value that does not begin like the pattern is no value.
  const value = words.find((word) => {
    if (word.use !== undefined) return false
    return prefix === ''
      ? isName(word) && labels.has(labelBefore(words, word)?.stem ?? '')
      : word.text.startsWith(prefix) && word.text !== prefix
  })
  if (!value) return undefined
  const label = labelBefore(words, value)
  const stems = new Set([...parts.map(stem), 'number', 'id', 'nam', 'call', 'no'])
  const between = words.slice(label ? words.indexOf(label) : 0, words.indexOf(value))
  claimWhere(between, 'argument', (word) => stems.has(word.stem))
  return claimed(value)
}

/** The letters and signs with which every value begins, such as `O-` of the pattern `^O-[0-9]+$`. The pattern itself is never run. */
export function prefixOf({ pattern }: JsonSchema): string {
  if (typeof pattern !== 'string' || pattern.includes('|')) return ''
  return /^\^((?:[\p{L}_-](?![*?{|]))+)/u.exec(pattern)?.[1] ?? ''
}

/** True for a word written like a name, a number or an identifier. */
function isName({ text, lower }: Word): boolean {
  return !isStopWord(lower) && (/[\p{Lu}\d]/u.test(text) || text.includes('@'))
}

/** The words behind a preposition that are written like names, or the first such words. */
export function objectOf(words: readonly Word[]): string | undefined {
  const prepositions = setOf('in for of about from to at on with called named')
  const isOpen = (word: Word | undefined) => word !== undefined && word.use === undefined && isName(word) && !isNumber(word)
  const after = words.findIndex((word, at) => isOpen(word) && at > 0 && prepositions.has(words[at - 1]!.lower))
  const start = after >= 0 ? after : words.findIndex((word, at) => at > 0 && isOpen(word))
  if (start < 0) return undefined
  let end = start + 1
  while (isOpen(words[end]) && /^\p{Lu}/u.test(words[end]!.text)) end++
  claim(words.slice(start, end), 'argument')
  return words
    .slice(start, end)
    .map(({ text }) => text)
    .join(' ')
}

const leadIns = [
  /^(?:please |can you |could you |would you )+/i,
  /^(?:and |so )?(?:what|how) about (?:the )?/i,
  /^what (?:does|do|did) (?:the |our |my )?[\w -]{1,40}? (?:say|state|tell(?: us)?|mention)(?: about| on| regarding)? /i,
  /^(?:according to|in) (?:the |our )?[\w-]+,? /i,
  /^(?:search|look|check|query)(?: up| through| in)? (?:the |our |my )?[\w-]+ (?:for|about|on) /i,
  /^(?:search|look)(?: up)? (?:for )?/i,
  /^(?:ask|tell|have|let) (?:the )?[\w-]+(?: \w+)? (?:to|about|whether|if|for) /i,
  /^(?:tell me|find(?: out)?(?: something| anything)?|show me|give me|explain(?: to me)?)(?: about| what| everything about)? /i,
]

/** Removes from a request the words that address a tool. */
export function toTopic(text: string): string {
  let topic = text.trim()
  for (const leadIn of leadIns) topic = topic.replace(leadIn, '')
  while (/[?!.\s]$/.test(topic)) topic = topic.slice(0, -1)
  return topic === '' ? text.trim() : topic
}

/** Finds literal content of a message: JSON, code, quotes, addresses and paths. */

/** Limit of the search for the end of a JSON text. */
const maxTries = 50

/** The first valid JSON object in a text. */
export function jsonIn(text: string): JsonObject | undefined {
  const start = text.indexOf('{')
  let end = text.lastIndexOf('}')
  for (let tries = 0; start >= 0 && end > start && tries < maxTries; tries++) {
    try {
      return JSON.parse(text.slice(start, end + 1)) as JsonObject
    } catch {
      end = text.lastIndexOf('}', end - 1)
    }
  }
  return undefined
}

interface CodeBlock {
  /** The text after the opening fence. */
  language: string
  code: string
  /** Start position. */
  at: number
}

/** The first fenced code block, or else the first text between single backticks that is more than a name. */
export function codeIn(text: string): CodeBlock | undefined {
  const at = text.indexOf('```')
  if (at >= 0) {
    const [whole = ''] = text.slice(at + 3).split('```', 1)
    const [, language = '', code = whole] = /^([\w+-]*)[ \t]*\r?\n([^]*)$/.exec(whole) ?? []
    return { language, code: code.trimEnd(), at }
  }
  const inline = text.matchAll(/`([^`\n]+)`/g).find(([, code = '']) => /\W/.test(code))
  return inline ? { language: '', code: inline[1]!, at: inline.index } : undefined
}

/** The first quoted text. */
export function quotedIn(text: string): string | undefined {
  const [, double, curly, single] = /(?<!\\)"((?:[^"\\]|\\.)*)"|“([^“”]*)”|(?<!\w)'([^']*)'(?!\w)/.exec(text) ?? []
  return double?.replace(/\\(["\\])/g, '$1') ?? curly ?? single
}

export function urlIn(text: string): string | undefined {
  return /https?:\/\/[^\s"'<>`]+[^\s"'<>`.,;:!?)]/.exec(text)?.[0]
}

export function textBehindColon(text: string): string | undefined {
  return /:\s+(\S[^]*)$/.exec(text)?.[1]?.trim()
}

export function isPath(text: string): boolean {
  return !text.includes('@') && (/\.[a-z][a-z0-9]{1,4}$/i.test(text) || text.includes('/'))
}
