import { toDocument, type Document } from './document.ts'
import { readHtml } from './html.ts'

/** Maximum unpacked size of a workbook or text document: fifty times more than people write, far less than would exhaust a process. */
const maxUnpackedBytes = 300_000_000

export async function readDocx(bytes: Buffer): Promise<Document> {
  checkUnpackedSize(bytes)
  const { default: mammoth } = await import('mammoth')
  // Images have no text, and converting them to data: URLs would be most of the work.
  const convertImage = mammoth.images.imgElement(async () => ({ src: '' }))
  const { value } = await mammoth.convertToHtml({ buffer: bytes }, { convertImage })
  return readHtml(value)
}

/** Reads a section for each sheet and a line for each row, with ` | ` between cells. */
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

/** Adds up the sizes in the zip directory before unpacking, since kilobytes can claim gigabytes. A broken archive is left to its reader. */
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
