import path from 'node:path'
import type { Document, Section } from './document.ts'

/** First rows that are shown of a table. */
const maxRows = 6
const maxLine = 300

/**
 * What a reader needs to know of a document to look for more in it, in at most `room` characters: of a table its columns and first
 * rows, of a text its headings with where they stand (an offset in characters) and how much is under them, else its beginning.
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
  const shown = lines.slice(0, maxRows).map((line) => cut(line, maxLine))
  return lines.length > maxRows ? [...shown, `(${lines.length} lines in all)`].join('\n') : shown.join('\n')
}

function headingLines(text: string, sections: readonly Section[]): string {
  let from = 0
  return sections
    .map(({ heading, text: own }) => {
      const parts = heading.split(' > ')
      const title = parts.at(-1) ?? ''
      const at = text.indexOf(title || own.slice(0, maxLine), from)
      // The next heading stands behind all of this section: its words may stand inside too.
      if (at >= 0) from = at + title.length + own.length
      const place = at >= 0 ? `offset ${at}, ` : ''
      return `${'  '.repeat(parts.length - 1)}- ${title || cut(own.replace(/\s+/g, ' '), 80)} (${place}${own.length} characters)`
    })
    .join('\n')
}

/** Never half of a character; says that it was cut where there is room for it. */
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
