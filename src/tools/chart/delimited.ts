/** Parses delimited text with names in the first line (RFC 4180). Returns rows as Vega expects them, with a property `columns`. */
export function readDelimited(delimiter: string) {
  return (text: unknown): Record<string, string>[] => {
    const [columns = [], ...rows] = toRecords(String(text).replace(/^\ufeff/, ''), delimiter)
    const objects = rows.map((row) => Object.fromEntries(columns.map((name, at) => [name, row[at] ?? ''])))
    return Object.assign(objects, { columns })
  }
}

function toRecords(text: string, delimiter: string): string[][] {
  const records: string[][] = []
  let record: string[] = []
  let at = 0
  while (at < text.length) {
    const isQuoted = text[at] === '"'
    const end = isQuoted ? endOfQuoted(text, at + 1) : endOfPlain(text, at, delimiter)
    record.push(isQuoted ? text.slice(at + 1, end).replaceAll('""', '"') : text.slice(at, end))
    at = isQuoted ? endOfPlain(text, end, delimiter) : end
    if (text[at] === delimiter) {
      at++
      if (at === text.length) record.push('')
      continue
    }
    records.push(record)
    record = []
    at += text.startsWith('\r\n', at) ? 2 : 1
  }
  if (record.length > 0) records.push(record)
  return records.filter((cells) => cells.length > 1 || cells[0] !== '')
}

function endOfQuoted(text: string, start: number): number {
  let at = text.indexOf('"', start)
  while (at >= 0 && text[at + 1] === '"') at = text.indexOf('"', at + 2)
  return at < 0 ? text.length : at
}

function endOfPlain(text: string, start: number, delimiter: string): number {
  let at = start
  while (at < text.length && text[at] !== delimiter && text[at] !== '\n' && text[at] !== '\r') at++
  return at
}
