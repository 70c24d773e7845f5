import type { GradedTurn } from './ask.ts'
import type { Grade } from './grade.ts'

const grades: Grade[] = ['right', 'asked', 'wrong', 'unordered write']

type Shares = Record<Grade, number> & { turns: number }

/** Counts of the grades. */
function count(turns: GradedTurn[]): Shares {
  const counts = grades.map((grade) => [grade, turns.filter((each) => each.grade === grade).length])
  return { ...(Object.fromEntries(counts) as Record<Grade, number>), turns: turns.length }
}

/** Percent of all turns per grade, with one decimal. */
export function percentsOf(turns: GradedTurn[]): Record<Grade, number> {
  const { turns: all, ...counts } = count(turns)
  const percents = Object.entries(counts).map(([grade, part]) => [grade, Math.round((1000 * part) / all) / 10])
  return Object.fromEntries(percents) as Record<Grade, number>
}

/** A table of the counts, per group. */
export function formatShares(groups: Map<string, GradedTurn[]>): string {
  const rows = [...groups].map(([name, turns]) => {
    const counts = count(turns)
    return [name.padEnd(28), ...[turns.length, ...grades.map((grade) => counts[grade])].map((value) => String(value).padStart(6))].join('')
  })
  const head = ['', 'turns', 'right', 'asked', 'wrong', 'write'].map((title, index) => (index ? title.padStart(6) : ''.padEnd(28))).join('')
  return [head, ...rows].join('\n')
}

export function formatFault({ turn, answer, grade, reason }: GradedTurn): string {
  const text = answer.text.replaceAll(/\s+/g, ' ')
  return `${grade}: ${turn.ask}\n    ${reason}\n    > ${text.length > 160 ? `${text.slice(0, 160)} ...` : text}`
}

/** Everything about the turns, for reading by hand. */
export function formatTranscript(groups: Map<string, GradedTurn[]>): string {
  const turns = [...groups].flatMap(([name, graded]) => graded.map((each) => ({ name, ...each })))
  const parts = turns.map(({ name, kind, turn, answer, grade, reason }) => {
    const made = [...answer.calls.map((call) => `call: ${JSON.stringify(call)}`), ...answer.files.map((file) => `file: ${file.name}`)]
    return [`## ${name}, ${kind}: ${turn.ask}`, `**${grade}** ${reason}`, ...made, '', answer.text, ''].join('\n')
  })
  return parts.join('\n')
}
