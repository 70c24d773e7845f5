import type { Section } from '../question.ts'
import { stemsOf } from '../words.ts'
import { cut, quotePassages } from './passages.ts'
import { memoriesHeading } from './remembered.ts'

/** Answers from texts in the same message as the question; undefined if the texts have no answer. */
export function answerFromTexts(question: string, sections: readonly Section[]): string | undefined {
  if (sections.length === 0) return undefined
  if (asksForSummary.test(question) || (asksForAll(question) && sections.some(({ file }) => file))) return summarise(sections)
  if (coverage(question, sections) < 0.5) return undefined
  return quotePassages(
    question,
    sections.map(({ file = '', heading, text }) => ({ file, heading, text })),
  )
}

const asksForSummary = /\b(summari[sz]e|summary|tl;?dr|key points|main points|in short)\b/i

/** Words that refer to a text as a whole. */
const general = stemsOf('file document attached attachment text table content contain say read open summarise summary describe explain')

/** True for "What is in it?" and "summarise the file", which ask about the whole text. */
export function asksForAll(question: string): boolean {
  return asksForSummary.test(question) || [...stemsOf(question)].every((part) => general.has(part))
}

/** Answers a question about the person from earlier statements of the person. */
export function answerFromStatements(question: string, statements: readonly Section[]): string | undefined {
  const isStatement = /^(my|i|i'm|i am|we|our|remember|note|please remember)\b/i.test(question.trim()) && !question.includes('?')
  if (isStatement && !/^i (want|need|would like)|^i'd like/i.test(question.trim()))
    return 'Noted. I will keep that in mind in this conversation.'
  if (!/\b(my|i|me|mine|we|our|us)\b/i.test(question) || !/\?|^(what|who|where|when|which|how|do|did|tell)/i.test(question))
    return undefined
  const questionStems = stemsOf(question)
  const sentences = statements.flatMap(({ heading, text }) =>
    text.split(/(?<=[.!])\s+|\n+/).map((sentence) => ({ heading, text: sentence.replace(/^[->*\s]+(?:User: )?/, '').trim() })),
  )
  const rated = sentences
    .map((sentence) => ({ ...sentence, score: [...questionStems].filter((part) => stemsOf(sentence.text).has(part)).length }))
    .filter(({ score }) => score > 0)
  const best = rated.toSorted((a, b) => b.score - a.score)[0]
  if (!best || questionStems.size === 0 || best.score / questionStems.size < 0.6) return undefined
  return best.heading === memoriesHeading ? cut(best.text, 400) : `What I know of that from you: “${cut(best.text, 400)}”`
}

function coverage(question: string, sections: readonly Section[]): number {
  const questionStems = stemsOf(question)
  const textStems = stemsOf(sections.map(({ heading, text }) => `${heading} ${text}`).join(' '))
  return questionStems.size === 0 ? 0 : [...questionStems].filter((part) => textStems.has(part)).length / questionStems.size
}

/** Summarises a text by the first sentence of each section. */
function summarise(sections: readonly Section[]): string {
  const prose = sections.filter((section) => !section.isRows)
  const lines = prose.slice(0, 12).map(({ heading, text }) => {
    const paragraph =
      text
        .split(/\n\s*\n/)
        .map((part) => part.trim())
        .find((part) => part !== '' && !/^[-|>`]/.test(part)) ?? text.trim()
    const sentence = /^[\s\S]*?[.!?](?=\s|$)/.exec(paragraph)?.[0] ?? paragraph
    return `- ${heading ? `**${heading}**: ` : ''}${cut(sentence.replace(/\s+/g, ' ').trim(), 240)}`
  })
  return `The text in its own words, shortened:\n\n${lines.join('\n')}`
}
