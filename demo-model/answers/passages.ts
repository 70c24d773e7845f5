import { stemsOf } from '../language/words.ts'

/** Answers from texts by quoting passages. Every sentence of an answer is from a text. */

export interface Passage {
  /** File of the passage; empty for a text without a name. */
  file: string
  heading: string
  text: string
  /** How well a search found that the passage fits, from 0 to 1. */
  score?: number
}

const maxPassages = 4
const maxCharacters = 1_200

interface Quotes {
  text: string
  /** Share of the words of the question, weighted by rarity, that the best passage has: from 0 to 1. */
  coverage: number
}

/** Quotes the most relevant passages with their sources; undefined if no passage has a word of the question. */
export function quotePassages(question: string, passages: readonly Passage[]): Quotes | undefined {
  const questionStems = [...stemsOf(question)]
  const read = passages.map((passage) => {
    return { passage, heading: stemsOf(`${passage.heading} ${passage.file}`), body: stemsOf(passage.text) }
  })
  const count = (part: string) => read.filter(({ heading, body }) => heading.has(part) || body.has(part)).length
  const counts = new Map(questionStems.map((part) => [part, count(part)]))
  const scored = read.map(({ passage, heading, body }) => {
    let [score, sum, hits] = [0, 0, 0]
    for (const [part, frequency] of counts) {
      const rarity = 1 + Math.log(1 + passages.length / (1 + frequency))
      score += (body.has(part) ? rarity : 0) + (heading.has(part) ? rarity * 1.2 : 0)
      // A word of no passage weighs most.
      const weight = 1 / (1 + Math.log(1 + frequency))
      sum += weight
      hits += heading.has(part) || body.has(part) ? weight : 0
    }
    return { passage, score, coverage: sum === 0 ? 0 : hits / sum }
  })
  const ranked = scored.toSorted((a, b) => b.score - a.score)
  const best = ranked[0]?.score ?? 0
  if (best <= 0) return undefined
  const chosen = ranked.filter(({ score }) => score >= best * 0.6).slice(0, maxPassages)
  const quotes = chosen.map(({ passage }) => quotePassage(passage, questionStems, maxCharacters / Math.min(chosen.length, 2)))
  return { text: quotes.join('\n\n'), coverage: Math.max(...chosen.map(({ coverage }) => coverage)) }
}

/** A passage with its source: its paragraphs with most of the wanted stems, within the limit of characters. */
export function quotePassage({ file, heading, text }: Passage, questionStems: readonly string[], limit = maxCharacters): string {
  const source = file === '' ? '' : ` (\`${file}\`)`
  // A list or a table stays with the line before.
  const paragraphs = text.replace(/^#{1,6}\s.*$/gm, '').split(/\n\s*\n(?![-*|\d])/)
  return `**${heading || file || 'From the text'}**${source}\n\n${select(paragraphs, questionStems, limit, '\n\n')}`
}

function select(parts: readonly string[], questionStems: readonly string[], limit: number, joint: string): string {
  const rated = parts.map((part, at) => {
    const stems = stemsOf(part)
    return { text: part.trim(), at, score: questionStems.filter((word) => stems.has(word)).length }
  })
  const selected: typeof rated = []
  let rest = limit
  for (const part of rated.filter(({ text }) => text !== '').toSorted((a, b) => b.score - a.score || a.at - b.at)) {
    if (part.text.length > rest && selected.length > 0) continue
    const sentences = part.text.length > rest && !/^[-*|\d]/m.test(part.text) ? part.text.split(/(?<=[.!?])\s+/) : []
    selected.push(
      sentences.length > 1
        ? { ...part, text: select(sentences, questionStems, rest, ' ') }
        : { ...part, text: cut(part.text, maxCharacters) },
    )
    rest -= part.text.length
  }
  return selected
    .toSorted((a, b) => a.at - b.at)
    .map(({ text }) => text)
    .join(joint)
}

/** Cuts a text at a word boundary, and marks the cut. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text
  const short = text.slice(0, limit)
  return `${short.slice(0, Math.max(short.lastIndexOf(' '), limit / 2))} …`
}
