/** Most cells of a row, and characters of a cell, that are shown. */
const maxCells = 100
const maxCharacters = 1000

/** Rows of a CSV text (RFC 4180), at most `maxRows`, each cut after 100 cells. The separator is the one of comma, semicolon and tab that the first line has most of. */
export function parseCsv(text: string, maxRows: number): string[][] {
  const firstLine = text.slice(0, text.indexOf('\n') === -1 ? text.length : text.indexOf('\n'))
  const separator = [',', ';', '\t'].toSorted((a, b) => firstLine.split(b).length - firstLine.split(a).length)[0]!
  const rows: string[][] = []
  let row: string[] = []
  let at = 0
  while (at < text.length && rows.length < maxRows) {
    const cell = readCell(text, at, separator)
    if (row.length < maxCells) row.push(cell.text.length > maxCharacters ? `${cell.text.slice(0, maxCharacters)}…` : cell.text)
    at = cell.end + 1
    if (text[cell.end] === separator) continue
    rows.push(row)
    row = []
  }
  return row.length > 0 ? [...rows, row] : rows
}

/** Reads the cell that starts at `start`. `end` is the offset of the separator or line break behind it. */
function readCell(text: string, start: number, separator: string): { text: string; end: number } {
  if (text[start] !== '"') {
    let end = start
    while (end < text.length && text[end] !== separator && text[end] !== '\n') end++
    return { text: text.slice(start, end).replace(/\r$/, ''), end }
  }
  let content = ''
  let at = start + 1
  for (;;) {
    const quote = text.indexOf('"', at)
    if (quote === -1) return { text: content + text.slice(at), end: text.length }
    content += text.slice(at, quote)
    if (text[quote + 1] !== '"') {
      const rest = readCell(text, quote + 1, separator)
      return { text: content + rest.text, end: rest.end }
    }
    content += '"'
    at = quote + 2
  }
}
