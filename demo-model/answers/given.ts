import type { Section } from '../question.ts'
import { stemsOf } from '../language/words.ts'
import { cut, quotePassages } from './passages.ts'

/** Answers from texts in the same message as the question; undefined if the texts have no answer. */
export function answerFromTexts(question: string, sections: readonly Section[]): string | undefined {
  if (sections.length === 0) return undefined
  if (summaryWords.test(question) || (asksForAll(question) && sections.some(({ file }) => file))) return summarise(sections)
  const [wanted, stems] = [stemsOf(question), stemsOf(sections.map(({ heading, text }) => `${heading} ${text}`).join(' '))]
  if ([...wanted].filter((part) => stems.has(part)).length < wanted.size / 2 || wanted.size === 0) return undefined
  const passages = sections.map(({ file = '', heading, text }) => ({ file, heading, text }))
  return quotePassages(question, passages)?.text
}

export const summaryWords = /\b(summari[sz]e|summary|tl;?dr|key points|main points|in short)\b/i

/** Words that refer to a text as a whole. */
const general = stemsOf('file document attached attachment text table content contain say read open summarise summary describe explain')

/** True for "What is in it?" and "summarise the file", which ask about the whole text. */
export function asksForAll(question: string): boolean {
  return summaryWords.test(question) || [...stemsOf(question)].every((part) => general.has(part))
}

/** Summarises a text by the first sentence of each section. */
export function summarise(sections: readonly Section[]): string {
  const prose = sections.filter((section) => !section.isRows)
  const lines = prose.slice(0, 12).map(({ heading, text }) => {
    const paragraphs = text.split(/\n\s*\n/).map((part) => part.trim())
    const paragraph = paragraphs.find((part) => part !== '' && !/^[-|>`]/.test(part)) ?? text.trim()
    const sentence = /^[\s\S]*?[.!?](?=\s|$)/.exec(paragraph)?.[0] ?? paragraph
    return `- ${heading ? `**${heading}**: ` : ''}${cut(sentence.replace(/\s+/g, ' ').trim(), 240)}`
  })
  return `The text in its own words, shortened:\n\n${lines.join('\n')}`
}

const statement =
  /^(?:my (?:\w+ ){1,3}(?:is|are)|i(?:'m| am| live| work| like| love| prefer| have(?! to\b)| use| speak| drive| own| hate|'ve| do not| don't)|we (?:are|have|use|prefer)|our (?:\w+ ){1,3}(?:is|are)|call me|(?:please )?(?:remember|note(?: that|:)))(?=\W|$)/i

/** Answers a question about the person from what the person said before and from memories. */
export function answerFromStatements(question: string, said: string, memories: readonly string[]): string | undefined {
  if (statement.test(question.trim()) && !question.includes('?')) return 'Noted. I will keep that in mind in this conversation.'
  if (!/\b(my|i|me|mine|we|our|us)\b/i.test(question) || !/\?|^(what|who|where|when|which|how|do|did|tell)/i.test(question))
    return undefined
  const wanted = [...stemsOf(question)]
  const own = said.split(/(?<=[.!])\s+|\n+/).map((sentence) => sentence.replace(/^[->*\s]+(?:User: )?/, '').trim())
  const scored = [...memories, ...own].map((sentence) => {
    const stems = stemsOf(sentence)
    return { sentence, score: wanted.filter((part) => stems.has(part)).length }
  })
  const [best] = scored.toSorted((a, b) => b.score - a.score)
  if (!best || best.score === 0 || best.score / wanted.length < 0.6) return undefined
  return memories.includes(best.sentence) ? best.sentence : `What I know of that from you: “${cut(best.sentence, 400)}”`
}
