import path from 'node:path'
import type { Document, Section } from './document.ts'

/** Number of table rows in an outline. */
const maxRows = 6
const maxLine = 300

/**
 * The outline of a document in at most `room` characters: the columns and first rows of a table, or the headings of a text, each with offset and
 * length in characters. A text without headings is cut to its beginning.
 */
export function toOutline(name: string, document: Document, room: number): string {
  return cut(outlineOf(name, document), room)
}

function outlineOf(name: string, { text, sections }: Document): string {
  const extension = path.extname(name).toLowerCase()
  if (extension === '.csv' || extension === '.tsv') return firstRows(text)
  if (extension === '.xlsx' || extension === '.xlsm')
    return sections.map((sheet) => `${sheet.heading}\n${firstRows(sheet.text)}`).join('\n\n')
  const headings = sections.filter(({ heading }) => heading !== '')
  return headings.length > 1 ? headingLines(text, sections) : text
}

function firstRows(text: string): string {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '')
  const firstLines = lines.slice(0, maxRows).map((line) => cut(line, maxLine))
  return lines.length > maxRows ? [...firstLines, `(${lines.length} lines in all)`].join('\n') : firstLines.join('\n')
}

function headingLines(text: string, sections: readonly Section[]): string {
  let searchStart = 0
  return sections
    .map(({ heading, text: body }) => {
      const parts = heading.split(' > ')
      const title = parts.at(-1) ?? ''
      const at = text.indexOf(title || body.slice(0, maxLine), searchStart)
      // Search for the next heading only after this section, whose body may contain the same words.
      if (at >= 0) searchStart = at + title.length + body.length
      const offset = at >= 0 ? `offset ${at}, ` : ''
      return `${'  '.repeat(parts.length - 1)}- ${title || cut(body.replace(/\s+/g, ' '), 80)} (${offset}${body.length} characters)`
    })
    .join('\n')
}

/** Cuts a text without splitting a surrogate pair, and marks the cut with ` …` if there is room. */
function cut(text: string, room: number): string {
  if (text.length <= room) return text
  const end = ' …'
  return room <= end.length
    ? ''
    : text
        .slice(0, room - end.length)
        .replace(/[\ud800-\udbff]$/, '')
        .trimEnd() + end
}
