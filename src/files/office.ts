import { byLibrary, toDocument, type Document } from './document.ts'
import { readHtml } from './html.ts'
import { repack } from './packed-files.ts'

export async function readDocx(bytes: Buffer): Promise<Document> {
  const buffer = await repack(bytes)
  const { default: mammoth } = await import('mammoth')
  // Images have no text, and converting them to data: URLs would be most of the work.
  const convertImage = mammoth.images.imgElement(async () => ({ src: '' }))
  const { value } = await byLibrary(() => mammoth.convertToHtml({ buffer }, { convertImage }))
  return readHtml(value)
}

/** Reads a section for each sheet and a line for each row, with ` | ` between cells. */
export async function readXlsx(bytes: Buffer): Promise<Document> {
  const archive = await repack(bytes)
  const { default: readSheets } = await import('read-excel-file/node')
  const sheets = await byLibrary(() => readSheets(archive))
  const sections = sheets.map(({ sheet, data }) => ({ heading: sheet, text: data.map(toLine).filter(Boolean).join('\n') }))
  return toDocument(sections, { sheets: sheets.length })
}

function toLine(row: readonly unknown[]): string {
  const cells = row.map((cell) => (cell instanceof Date ? toDay(cell) : cell === null ? '' : String(cell).replace(/\s+/g, ' ').trim()))
  return cells.some(Boolean) ? cells.join(' | ').trimEnd() : ''
}

function toDay(date: Date): string {
  return date.toISOString().replace('T00:00:00.000Z', '').replace('.000Z', 'Z')
}
