/** Reads the table of an answer back: what "that" and "the customer" of the next question mean. */

export interface ShownTable {
  titles: string[]
  /** Cells as they were shown, with plain numbers; empty for a missing value. */
  rows: string[][]
}

/** The first table of an answer in Markdown; undefined where it has none. */
export function readShownTable(answer: string): ShownTable | undefined {
  const lines = answer.split('\n')
  const start = lines.findIndex((line) => line.startsWith('|'))
  const end = lines.findIndex((line, at) => at > start && !line.startsWith('|'))
  const table = start < 0 ? [] : lines.slice(start, end < 0 ? undefined : end)
  const [titles, , ...rows] = table.map((line) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map(toPlain),
  )
  return titles && rows.length > 0 ? { titles, rows } : undefined
}

function toPlain(cell: string): string {
  const text = cell.trim().replaceAll('\\|', '|')
  if (text === '–') return ''
  return /^-?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(text) ? text.replaceAll(',', '') : text
}
