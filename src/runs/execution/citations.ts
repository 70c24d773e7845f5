import type { Step } from '../../agent/events.ts'
import type { JsonValue } from '../../agent/messages.ts'
import { fieldsOf } from '../../json/shape.ts'
import { toQueryTerms, toTerms } from '../../search/terms.ts'
import type { Citation } from '../../sessions/message.ts'
import { sentencesOf, type TextRange } from './sentences.ts'

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
