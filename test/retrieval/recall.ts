import { kinds, type Kind, type Passage, type Question } from './question-set.ts'

/** Passages for a question, best first. The heading is the nearest one, without those above. */
export type Search = (question: Question) => Promise<readonly Passage[]>

/** Shares from 0 to 1. A question counts as found when any passage that answers it is found. */
export interface Recall {
  questions: number
  /** R@1: a right passage is the first. */
  first: number
  /** R@3: a right passage is among the first three. */
  firstThree: number
  /** MRR: mean of 1 / rank of the first right passage, 0 where none is returned. */
  reciprocalRank: number
  /** Share of questions for which nothing is returned: the right answer to an `unanswerable` question alone. */
  empty: number
}

export type RecallByKind = Partial<Record<Kind, Recall>>

/** Asks all questions, one after another. A kind without questions is missing from the result. */
export async function measureRecall(questions: readonly Question[], search: Search): Promise<RecallByKind> {
  const rankings: { kind: Kind; rank: number; isEmpty: boolean }[] = []
  for (const question of questions) {
    const found = await search(question)
    rankings.push({ kind: question.kind, rank: rankOf(question, found), isEmpty: found.length === 0 })
  }
  const byKind = Map.groupBy(rankings, ({ kind }) => kind)
  return Object.fromEntries([...byKind].map(([kind, ranked]) => [kind, recallOf(ranked)]))
}

/** Rank of the first right passage, from 1; `Infinity` if there is none. */
function rankOf({ passages }: Question, found: readonly Passage[]): number {
  const index = found.findIndex((hit) => passages.some(({ file, heading }) => file === hit.file && heading === hit.heading))
  return index < 0 ? Infinity : index + 1
}

function recallOf(ranked: readonly { rank: number; isEmpty: boolean }[]): Recall {
  const ranks = ranked.map(({ rank }) => rank)
  const shareOf = (count: number) => count / ranks.length
  return {
    questions: ranks.length,
    first: shareOf(ranks.filter((rank) => rank === 1).length),
    firstThree: shareOf(ranks.filter((rank) => rank <= 3).length),
    reciprocalRank: shareOf(ranks.reduce((sum, rank) => sum + 1 / rank, 0)),
    empty: shareOf(ranked.filter(({ isEmpty }) => isEmpty).length),
  }
}

/** A table as text: one row for each kind of each named measurement. */
export function formatRecall(measurements: Readonly<Record<string, RecallByKind>>): string {
  const header = ['', 'kind', 'questions', 'R@1', 'R@3', 'MRR', 'nothing found']
  const rows = Object.entries(measurements).flatMap(([name, byKind]) =>
    kinds.flatMap((kind) => {
      const recall = byKind[kind]
      if (!recall) return []
      const { questions, first, firstThree, reciprocalRank, empty } = recall
      const shares = kind === 'unanswerable' ? ['-', '-', '-'] : [first, firstThree, reciprocalRank].map((share) => share.toFixed(2))
      return [[name, kind, String(questions), ...shares, empty.toFixed(2)]]
    }),
  )
  const widths = header.map((_cell, column) => Math.max(...[header, ...rows].map((row) => row[column]?.length ?? 0)))
  return [header, ...rows].map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')).join('\n')
}
