import { toDocument, type Document } from './document.ts'
import { readHtml } from './html.ts'

/** What a workbook or text document may unpack to: fifty times more than any that people write, far less than what stops a process. */
const maxUnpackedBytes = 300_000_000

export async function readDocx(bytes: Buffer): Promise<Document> {
  checkUnpackedSize(bytes)
  const { default: mammoth } = await import('mammoth')
  // Pictures have no text; turned into data: addresses they would be most of the work.
  const convertImage = mammoth.images.imgElement(async () => ({ src: '' }))
  const { value } = await mammoth.convertToHtml({ buffer: bytes }, { convertImage })
  return readHtml(value)
}

/** A section for each sheet, a line for each row, the cells with ` | ` between. */
export async function readXlsx(bytes: Buffer): Promise<Document> {
  checkUnpackedSize(bytes)
  const { default: readSheets } = await import('read-excel-file/node')
  const sheets = await readSheets(bytes)
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

/** Adds up what the zip's directory says before it is unpacked: kilobytes can claim gigabytes. What is broken is left to its reader. */
function checkUnpackedSize(zip: Buffer): void {
  const end = zip.lastIndexOf('PK\x05\x06', undefined, 'latin1')
  if (end === -1 || end + 20 > zip.length) return
  let total = 0
  let at = zip.readUInt32LE(end + 16)
  while (at + 46 <= zip.length && zip.readUInt32LE(at) === 0x02014b50) {
    total += zip.readUInt32LE(at + 24)
    at += 46 + zip.readUInt16LE(at + 28) + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32)
  }
  if (total > maxUnpackedBytes) throw new Error(`it unpacks to more than ${maxUnpackedBytes / 1_000_000} MB`)
}
