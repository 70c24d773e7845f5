/** An answer in its parts. */
export interface Shape {
  /** Rows of its tables, without the head. */
  rows: string[]
  /** Points of its lists. */
  points: string[]
  /** Everything that is no table. */
  prose: string
}

/** Splits an answer in Markdown into tables and prose. */
export function splitAnswer(text: string): Shape {
  const lines = text.split('\n')
  const isRow = (line = '') => line.trim().startsWith('|')
  const isRule = (line = '') => /^\s*\|[\s:|-]+$/.test(line)
  const rows = lines.filter((line, index) => isRow(line) && !isRule(line) && !isRule(lines[index + 1]))
  const points = lines.filter((line) => /^\s*(?:[-*]|\d{1,2}[.)])\s/.test(line))
  return { rows, points, prose: lines.filter((line) => !isRow(line)).join('\n') }
}

const smallTable = 8
const smallList = 12

/**
 * The part of an answer that a reader takes for the answer to a question that asks for `count` items: its prose up to `limit` characters, as
 * many of the first rows of a table or points of a list as items, and of a small table the rows that the question names. A figure in row 17
 * of a dump is no answer. From three items on, a whole list counts that is not much longer than the items.
 */
export function headOf(text: string, { question, count, limit, isPassage }: HeadOptions): string {
  const { rows, points, prose } = splitAnswer(text)
  const values = points.filter((point) => !isField(point) && !isPassage(point))
  const body = prose.split('\n').filter((line) => !values.includes(line))
  const first = (lines: string[]) => (isWholeList(lines, count) ? lines : lines.slice(0, Math.max(1, count)))
  const named = rows.length <= smallTable ? rows.filter((row) => namesCell(question, row)) : []
  return [body.join('\n').slice(0, limit), ...first(rows), ...first(values), ...named].join('\n')
}

interface HeadOptions {
  question: string
  count: number
  limit: number
  /** Whether a line is of a document. */
  isPassage(line: string): boolean
}

function isWholeList(lines: string[], count: number): boolean {
  return count > 2 && lines.length <= Math.max(smallList, 2 * count)
}

/** A field of a record, such as "- **status**: shipped", or a tool with its description. */
function isField(point: string): boolean {
  return /^\s*[-*]\s+(?:\*\*[^*]+\*\*|`\w+`):/.test(point)
}

/** Whether the question has the first cell of a row. */
function namesCell(question: string, row: string): boolean {
  const [cell = ''] = row
    .split('|')
    .map((part) => part.trim())
    .filter(Boolean)
  return /\p{L}/u.test(cell) && question.toLowerCase().includes(cell.toLowerCase())
}

/** Number of rows that an answer lists: of its table, else of its list; undefined for prose. */
export function countRows(text: string): number | undefined {
  const { rows, points } = splitAnswer(text)
  if (rows.length > 0) return rows.length
  return points.length > 1 ? points.length : undefined
}

/** Sentences of prose; each line and each point of a list ends one. */
export function splitSentences(prose: string): string[] {
  return prose
    .split(/\n+|(?<=[.!?]["'”’)*`]{0,3})\s+(?=[\p{Lu}\p{N}"'“‘(*`])/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => /\w/.test(sentence))
}
