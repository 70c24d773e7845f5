import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

/** A section of a document, named by its file (relative to the corpus) and its nearest heading. */
export interface Passage {
  file: string
  heading: string
}

/** `paraphrases` use none of the passage's words, `mixed-words` some, `own-words` nearly all; `unanswerable` have no passage. */
export const kinds = ['paraphrases', 'mixed-words', 'own-words', 'other-languages', 'unanswerable'] as const
export type Kind = (typeof kinds)[number]

/** Folders of the documents. Every question is asked of one corpus. */
export const corpora = {
  handbook: fileURLToPath(new URL('../../samples/files/handbook', import.meta.url)),
  cooperative: fileURLToPath(new URL('cooperative', import.meta.url)),
}
export type Corpus = keyof typeof corpora

export interface Question {
  text: string
  kind: Kind
  corpus: Corpus
  /** The passages that answer the question. Empty for `unanswerable`. */
  passages: Passage[]
  /** Weights and thresholds are chosen on `tuning` alone; figures are reported for `held-out`. */
  split: 'tuning' | 'held-out'
}

export const fileOfKind = (kind: Kind): string => fileURLToPath(new URL(`questions/${kind}.yaml`, import.meta.url))

/** All questions of all kinds, in the order of the files. */
export function loadQuestions(): Question[] {
  return kinds.flatMap((kind) => {
    const byCorpus = parse(readFileSync(fileOfKind(kind), 'utf8')) as Record<Corpus, Record<string, string[]>>
    return Object.entries(byCorpus).flatMap(([corpus, byPassages]) =>
      Object.entries(byPassages).flatMap(([key, texts]) =>
        texts.map((text) => ({ text, kind, corpus: corpus as Corpus, passages: parsePassages(key), split: splitOf(text) })),
      ),
    )
  })
}

/** Reads `a.md#Heading | b.md#Heading`, or `none`. */
function parsePassages(key: string): Passage[] {
  if (key === 'none') return []
  return key.split(' | ').map((name) => {
    const hash = name.indexOf('#')
    return { file: name.slice(0, hash), heading: name.slice(hash + 1) }
  })
}

const seed = 'retrieval-1'

/** A third of the questions is for tuning. The hash keeps a question in its split when others are added. */
function splitOf(text: string): Question['split'] {
  return createHash('sha256').update(`${seed}\n${text}`).digest().readUInt32BE(0) % 3 === 0 ? 'tuning' : 'held-out'
}
