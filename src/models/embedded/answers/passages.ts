import { stem, stemsOf, wordsOf } from '../words.ts'

/** Answers from texts by quoting passages. Every sentence of an answer is from a text. */

export interface Passage {
  /** File of the passage; empty for a text without a name. */
  file: string
  heading: string
  text: string
}

const maxPassages = 4
const maxCharacters = 1_200

/** Quotes the most relevant blocks with their sources; undefined if no passage has a word of the question. */
export function quotePassages(question: string, passages: readonly Passage[]): string | undefined {
  const questionStems = stemsOf(question)
  const frequency = countStems(passages, questionStems)
  const scored = passages
    .map((passage) => ({ passage, score: scoreOf(passage, questionStems, frequency, passages.length) }))
    .toSorted((a, b) => b.score - a.score)
  const best = scored[0]?.score ?? 0
  if (best <= 0) return undefined
  const chosen = scored.filter(({ score }) => score >= best * 0.6).slice(0, maxPassages)
  const quotes = chosen.map(({ passage }) => quote(passage, questionStems, chosen.length))
  // A single outstanding passage is the answer. Several passages are a topic, which may have further passages.
  if (chosen.length === 1) return quotes.join('\n\n')
  const remaining = scored.filter(
    (candidate) => !chosen.includes(candidate) && candidate.passage.file !== '' && candidate.passage.file === chosen[0]?.passage.file,
  )
  return [...quotes, ...listFurther(remaining.map(({ passage }) => passage))].join('\n\n')
}

/** Lists the headings of further passages in the best document. */
function listFurther(passages: readonly Passage[]): string[] {
  const headings = new Set(passages.map(({ heading }) => heading.split(' > ').at(-1) ?? '').filter(Boolean))
  return headings.size > 0 ? [`The same document also has: ${[...headings].join(', ')}.`] : []
}

function countStems(passages: readonly Passage[], questionStems: ReadonlySet<string>): Map<string, number> {
  const counts = new Map<string, number>()
  for (const passage of passages) {
    const passageStems = stemsOf(`${passage.heading} ${passage.text}`)
    for (const part of questionStems) if (passageStems.has(part)) counts.set(part, (counts.get(part) ?? 0) + 1)
  }
  return counts
}

/** Scores a passage. Rare words of the question count more than common words, and words in a heading count more than words in the text. */
function scoreOf(passage: Passage, questionStems: ReadonlySet<string>, frequency: ReadonlyMap<string, number>, total: number): number {
  const heading = stemsOf(`${passage.heading} ${passage.file}`)
  const body = new Set(wordsOf(passage.text).map(stem))
  let score = 0
  for (const part of questionStems) {
    const rarity = 1 + Math.log(1 + total / (1 + (frequency.get(part) ?? 0)))
    score += (body.has(part) ? rarity : 0) + (heading.has(part) ? rarity * 1.2 : 0)
  }
  return score
}

function quote(passage: Passage, questionStems: ReadonlySet<string>, passageCount: number): string {
  const blocks = blocksOf(passage.text)
  const rated = blocks.map((text, at) => ({ text, at, score: [...questionStems].filter((part) => stemsOf(text).has(part)).length }))
  const isAbout = [...questionStems].some((part) => stemsOf(passage.heading).has(part))
  const budget = maxCharacters / Math.min(passageCount, 2)
  const selected: typeof rated = []
  let remainingBudget = budget
  for (const block of rated.toSorted((a, b) => b.score - a.score || a.at - b.at)) {
    if (selected.length > 0 && (block.text.length > remainingBudget || (block.score === 0 && passageCount > 1 && !isAbout))) continue
    selected.push({ ...block, text: shorten(block.text, questionStems, Math.max(remainingBudget, 300)) })
    remainingBudget -= block.text.length
  }
  const text = selected
    .toSorted((a, b) => a.at - b.at)
    .map((block) => block.text)
    .join('\n\n')
  return `**${passage.heading || passage.file || 'From the text'}**${passage.file ? ` (\`${passage.file}\`)` : ''}\n\n${text}`
}

/** Splits a text into paragraphs. A list or table stays complete, together with the line before it. */
function blocksOf(text: string): string[] {
  const blocks: string[] = []
  for (const block of text
    .replace(/^#{1,6}\s.*$/gm, '')
    .split(/\n\s*\n/)
    .map((part) => part.trim())
    .filter(Boolean)) {
    const before = blocks.at(-1)
    if (before !== undefined && /^([-*]|\d+[.)]|\|)/.test(block) && before.endsWith(':'))
      blocks[blocks.length - 1] = `${before}\n\n${block}`
    else blocks.push(block)
  }
  return blocks
}

/** Selects the sentences of a long paragraph that match the question best, in their order. */
function shorten(block: string, questionStems: ReadonlySet<string>, limit: number): string {
  if (block.length <= limit || /^[^\S\n]*([-*|]|\d+[.)])/m.test(block)) return cut(block, Math.max(limit, maxCharacters))
  const sentences = block.match(/[^.!?]+(?:[.!?]+(?=\s|$)|$)|[.!?]/g) ?? [block]
  const rated = sentences.map((text, at) => ({
    text: text.trim(),
    at,
    score: [...questionStems].filter((part) => stemsOf(text).has(part)).length,
  }))
  const selected: typeof rated = []
  let remainingBudget = limit
  for (const sentence of rated.toSorted((a, b) => b.score - a.score || a.at - b.at)) {
    if (sentence.text.length > remainingBudget) continue
    selected.push(sentence)
    remainingBudget -= sentence.text.length + 1
  }
  return selected.length > 0
    ? selected
        .toSorted((a, b) => a.at - b.at)
        .map((sentence) => sentence.text)
        .join(' ')
    : cut(block, limit)
}

/** Cuts a text at a word boundary, and marks the cut. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text
  const short = text.slice(0, limit)
  return `${short.slice(0, Math.max(short.lastIndexOf(' '), limit / 2))} …`
}
