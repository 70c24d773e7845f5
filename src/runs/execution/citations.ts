import type { Step } from '../../agent/events.ts'
import type { JsonValue, Message } from '../../agent/messages.ts'
import { fieldsOf } from '../../json/shape.ts'
import { toQueryTerms, toTerms } from '../../search/terms.ts'
import type { Citation } from '../../sessions/message.ts'
import type { ModelSource } from '../../agent/model.ts'

/**
 * The passages that an answer rests on. A sentence of the answer cites a passage that a tool returned in the run, where the passage has most of
 * its words and all of its numbers. Any tool can return passages: an output `{passages: [{file, heading?, page?, start, end, text}]}`.
 */
export function citationsOf(answer: () => string, steps: readonly Step[]): Citation[] {
  const passages = steps.flatMap(passagesOf).slice(0, maxPassages).map(withTerms)
  if (passages.length === 0) return []
  const citations: Citation[] = []
  for (const sentence of sentencesOf(answer()).slice(0, maxSentences)) {
    const terms = toQueryTerms(sentence.text, maxTerms)
    const source = findSource(terms, passages)
    if (!source) continue
    const citation = toCitation(sentence, terms, source)
    const last = citations.at(-1)
    if (last && isSamePlace(last, citation)) last.answerEnd = citation.answerEnd
    else if (citations.length < maxCitations) citations.push(citation)
  }
  return citations
}

const maxPassages = 100
const maxCitations = 50
const maxSentences = 300
/** Terms of a sentence that are compared. */
const maxTerms = 60
/** Fewer terms may occur together by accident. */
const minTerms = 2
/** Part of the terms of a sentence that its passage must have. */
const minShare = 0.6

type Passage = Omit<Citation, 'answerStart' | 'answerEnd'>

interface IndexedPassage {
  passage: Passage
  /** Of file, heading and text. */
  terms: ReadonlySet<string>
  /** Of the text and of each sentence, split when the passage is cited first. */
  text?: { terms: ReadonlySet<string>; sentences: IndexedSentence[] }
}

interface IndexedSentence extends TextRange {
  terms: ReadonlySet<string>
}

function passagesOf({ tool, status, output }: Step): Passage[] {
  const { passages } = status === 'success' ? fieldsOf(output) : {}
  return Array.isArray(passages) ? passages.flatMap((passage) => toPassage(tool, passage)) : []
}

function toPassage(tool: string, passage: JsonValue): Passage[] {
  const { file, document_id: documentId, heading, page, start, end, text } = fieldsOf(passage)
  if (typeof file !== 'string' || typeof text !== 'string' || !isOffset(start) || !isOffset(end)) return []
  const found = { tool, file, heading: typeof heading === 'string' ? heading : '', start, end, text }
  return [{ ...found, ...(typeof documentId === 'string' && { documentId }), ...(isOffset(page) && { page }) }]
}

function isOffset(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

/** An answer often names file and heading, so their words count too. */
function withTerms(passage: Passage): IndexedPassage {
  return { passage, terms: new Set(toTerms(`${passage.file} ${passage.heading} ${passage.text} page ${passage.page ?? ''}`)) }
}

function findSource(terms: readonly string[], passages: readonly IndexedPassage[]): IndexedPassage | undefined {
  if (terms.length < minTerms) return undefined
  const numbers = terms.filter((term) => /^\d+$/.test(term))
  let best: IndexedPassage | undefined
  let bestShare = minShare
  for (const candidate of passages) {
    if (!numbers.every((number) => candidate.terms.has(number))) continue
    const share = shareOf(terms, candidate.terms)
    // Of equal passages the better ranked one wins.
    if (share > bestShare || (share === bestShare && !best)) [best, bestShare] = [candidate, share]
  }
  return best
}

function shareOf(terms: readonly string[], present: ReadonlySet<string>): number {
  return terms.filter((term) => present.has(term)).length / terms.length
}

/** The sentence of the passage that has most words of the sentence of the answer. */
function toCitation(sentence: TextRange, terms: readonly string[], source: IndexedPassage): Citation {
  const { passage } = source
  const text = (source.text ??= splitText(passage.text))
  // The quote is the whole passage where the answer combines several of its sentences, or names its file and heading alone.
  let quote: TextRange = { text: passage.text, start: 0 }
  let most = Math.max(Number.MIN_VALUE, shareOf(terms, text.terms) * 0.7)
  for (const part of text.sentences) {
    const share = shareOf(terms, part.terms)
    if (share > most || (share === most && quote.text === passage.text)) [quote, most] = [part, share]
  }
  const start = passage.start + quote.start
  return {
    ...passage,
    start,
    end: start + quote.text.length,
    text: quote.text,
    answerStart: sentence.start,
    answerEnd: sentence.start + sentence.text.length,
  }
}

function splitText(text: string): NonNullable<IndexedPassage['text']> {
  const sentences = sentencesOf(text).map((part) => ({ ...part, terms: new Set(toTerms(part.text)) }))
  return { terms: new Set(toTerms(text)), sentences }
}

function isSamePlace(a: Citation, b: Citation): boolean {
  return a.file === b.file && a.documentId === b.documentId && a.start === b.start && a.end === b.end
}

interface AnsweredProgress {
  messages: readonly Message[]
  ownFrom: number
  steps: readonly Step[]
}

/**
 * The sources of the message that is the answer, as citations. Places of the provider count in the text of its own message, so sources of
 * other messages of the run are left out. A source without a place supports the whole answer.
 */
export function citationsOfSources(answer: () => string, { messages, ownFrom, steps }: AnsweredProgress): Citation[] {
  const named = messages.slice(ownFrom).filter((message) => message.role === 'assistant' && message.sources)
  if (named.length === 0) return []
  const output = answer()
  const message = named.findLast(({ text }) => text === output)
  const sources = message?.role === 'assistant' ? (message.sources ?? []) : []
  const tool = steps.findLast(({ isOfProvider, status, subAgent }) => isOfProvider && status === 'success' && !subAgent)?.tool ?? 'model'
  return sources.map((source) => toSourceCitation(source, tool, output.length))
}

function toSourceCitation({ url, title, text = '', start, end }: ModelSource, tool: string, length: number): Citation {
  return {
    tool,
    file: title || hostOf(url),
    ...(url !== undefined && { url, title: title || hostOf(url) }),
    heading: '',
    start: 0,
    end: text.length,
    text,
    answerStart: start ?? 0,
    answerEnd: end ?? length,
  }
}

function hostOf(url = ''): string {
  return URL.parse(url)?.host ?? ''
}

/** A part of a text, with its place. */
export interface TextRange {
  text: string
  /** Characters before the part. */
  start: number
}

/** The sentences and lines of a text, without the white space around them. A point inside of a number or a name ends no sentence. */
export function sentencesOf(text: string): TextRange[] {
  const sentences: TextRange[] = []
  let start = 0
  const close = (end: number) => {
    const part = text.slice(start, end)
    const trimmed = part.trim()
    if (trimmed !== '') sentences.push({ text: trimmed, start: start + part.length - part.trimStart().length })
    start = end
  }
  for (const { index } of text.matchAll(/[.!?](?=\s)|\n/g)) close(index + 1)
  close(text.length)
  return sentences
}
