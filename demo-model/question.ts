import { findPhrase, phrases } from './language/phrases.ts'
import { readWords, setOf, stemsOf } from './language/words.ts'
import { smallTalk } from './talk.ts'

/** Splits a message into the question, its parts, and the texts sent with the question. */

export interface Section {
  /** File of the section, if any. */
  file?: string
  /** True for the rows of a table, each a paragraph. */
  isRows?: boolean
  heading: string
  text: string
}

interface ParsedMessage {
  parts: string[]
  /** Texts before or after the question in the same message. */
  sections: Section[]
}

/** Limit of a question. A longer message contains texts too. */
const questionCharacters = 600
/** Longer messages have texts, in which nothing is looked for but the question. */
const maxRequest = 2_400

export function readMessage(text: string): ParsedMessage {
  const trimmed = text.trim()
  if (trimmed.length <= questionCharacters && !/^[^\S\n]*(#|```|---)/m.test(trimmed)) return { parts: splitParts(trimmed), sections: [] }
  const blocks = trimmed.split(/\n\s*\n/)
  const [first = '', last = ''] = [blocks[0], blocks.at(-1)]
  const asksFirst = blocks.length > 1 && first.length <= questionCharacters && /[?:]\s*$/.test(first) && !/[?]\s*$/.test(last)
  const block = asksFirst ? first : last
  const question = block.replace(/^#.*$/gm, '').trim() || block
  const texts = asksFirst ? blocks.slice(1) : blocks.slice(0, -1)
  return { parts: splitParts(question.slice(0, maxRequest)), sections: toSections(texts.join('\n\n')) }
}

/** Splits Markdown at headings, without the front matter. */
export function toSections(text: string): Section[] {
  const sections: Section[] = [{ heading: '', text: '' }]
  for (const line of text.replace(/^---\n[^]*?\n---\n/, '').split('\n')) {
    const heading = /^#{1,6}\s+(.*)$/.exec(line)?.[1]
    if (heading === undefined) sections.at(-1)!.text += `${line}\n`
    else sections.push({ heading: heading.trim(), text: '' })
  }
  return sections.filter((section) => section.text.trim() !== '')
}

/** "Do not cancel O-1, just tell me its status": only the second half asks for something. A long quote is no request either. */
export function withoutProhibition(question: string): string {
  if (question.length > maxRequest) return question
  const spoken = question.split(/["“”]/).filter((part, at) => at % 2 === 0 || part.length < 15)
  const questions =
    spoken.some((part) => part.includes('?')) && !/^\W*(?:use|run|call|write|save|add)\b/i.test(question) ? spoken.join(' ') : question
  const prohibition =
    /^(?:please )?(?:do not|don't|don’t|never|without|instead of|rather than) ([^,;?]{1,200}?)[,;.] +(?:just |but |only )?(\S[^]*)$/i
  const [, front = '', rest] = prohibition.exec(questions) ?? []
  if (rest === undefined) return questions
  const names = /\b(?:it|its|them|their|he|his|him|she|her|they)\b/i.test(rest) ? front.split(' ').filter((word) => /\d/.test(word)) : []
  return [rest.replace(/\?$/, ''), ...names].join(' ')
}

const verbs =
  'what|how|who|when|where|which|why|whose|is there|are there|do we|do i|can i|list|show|tell|calculate|compute|search|read|find|give|convert|compare|open|look up|add|multiply|divide'
const borders = new RegExp(
  [
    '(?<=[?!])\\s+',
    '(?<=\\p{L}{2}[.])\\s+(?=\\p{Lu})',
    '\\s*;\\s*',
    '\\n+\\s*(?:[-*]|\\d+[.)])?\\s*',
    ',?\\s+and\\s+(?:then|also|after that|finally)\\b,?\\s*',
    ',\\s*(?:then|also|after that|finally)\\s+',
    `,?\\s+and\\s+(?=(?:${verbs})\\b)`,
  ].join('|'),
  'iu',
)

/** Splits a text into requests, in order. Quoted text is never split. */
export function splitParts(text: string): string[] {
  const quotes: string[] = []
  const masked = text.replace(/"[^"\n]*"|“[^”\n]*”|`[^`\n]*`/g, (quote) => `\uE000${quotes.push(quote) - 1}\uE001`)
  const whole = (part: string) => part.replace(/\uE000(\d+)\uE001/g, (_, index: string) => quotes[Number(index)] ?? '').trim()
  const [first = '', ...furtherParts] = masked
    .split(borders)
    .map(whole)
    .filter((part, at, all) => all.length === 1 || at > 0 || !smallTalk(part))
  const rest = furtherParts.map((part) =>
    part.replace(/^(?:and|also|then|after that|finally)\b(?:,\s*|\s+)(?!(?:for|in|by)\b)/i, '').trim(),
  )
  // "I lost my laptop. What now?" is a single question.
  const isSingle =
    rest.length === 1 &&
    (stemsOf(rest[0]!).size <= 1 || isFollowUp(rest[0]!)) &&
    !first.includes('?') &&
    /^(?:i|my|a|the|we|our)\b/i.test(first)
  return (isSingle ? [whole(masked)] : [first, ...rest]).filter((part) => /[\p{L}\p{N}]/u.test(part)).slice(0, 8)
}

const openings = setOf('and or but now same only just instead then also')
const asks = setOf('what how who when where which list show read search tell')
const prepositions = setOf('for in by per of without with except excluding since before after as')
/** Words before a pronoun for an earlier answer. */
const leads = setOf('of for from chart plot draw show make sort put break')
const references = setOf('he she his they them those these their theirs ones one thereof him her')
const elliptic = phrases(
  'can are is do does did was were may must will have has'
    .split(' ')
    .map((verb) => `many ${verb}`)
    .join('|'),
)

/** True for a part that needs the question before: "and for the South?", "how many do they have?", "show it as a chart". */
export function isFollowUp(part: string): boolean {
  const words = readWords(part).map(({ lower }) => lower)
  const [first = '', second = ''] = words
  const [lead, third] = ['and', 'so', 'ok', 'okay'].includes(first) ? words.slice(1) : words
  if ((lead === 'what' || lead === 'how') && third === 'about') return words.length <= 12
  const refers = refersBack(part, words)
  if (openings.has(first) && words.length <= 9) return refers || !asks.has(second) || !['and', 'now', 'then', 'also'].includes(first)
  return (words.length <= 5 && prepositions.has(first)) || (words.length <= 14 && refers)
}

function refersBack(part: string, words: readonly string[]): boolean {
  if (findPhrase(readWords(part).slice(0, 4), elliptic)) return true
  if (words.some((word) => references.has(word))) return !words.includes('time')
  return words.some((word, at) => {
    const before = words[at - 1] ?? ''
    return ['that', 'it', 'there'].includes(word) && (leads.has(before) || (at === words.length - 1 && before !== 'is' && before !== 'are'))
  })
}

const dependent =
  /\b(of|from|to|by|with|double|half|twice|add|subtract|multiply|divide)\b.*\b(that|it|this|the (result|total|sum|answer))\b|\b(that|it|the (result|total|answer))\b (plus|minus|times|divided|multiplied|squared)/i

/** True for a part that needs the figure of the part before. */
export function isDependent(part: string): boolean {
  return dependent.test(part) && /\d|%|half|double|twice|third|quarter|squared|square root/i.test(part)
}
