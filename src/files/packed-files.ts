import { unzipSync } from 'fflate'

/** Maximum unpacked size of a document: fifty times more than people write, far less than would exhaust a process. */
const maxUnpackedBytes = 300_000_000

/** The text files of a packed document, by path. */
export interface PackedFiles {
  /** The content of a file, decoded as UTF-8. Undefined for a missing file. */
  find(path: string): string | undefined
  /** Like `find`, but throws for a missing file. */
  read(path: string): string
}

/** Files of other types are not unpacked: they are images, fonts and films. */
const textFile = /\.(xml|rels|opf|ncx|x?html?)$/i

/** Opens a document which is a ZIP archive. Throws an `Error` for any other file, and for an archive that is too large unpacked. */
export function openPackedFiles(zip: Buffer): PackedFiles {
  checkPacked(zip)
  const files = unzipSync(zip, { filter: ({ name }) => textFile.test(name) })
  const find = (path: string) => (Object.hasOwn(files, path) ? new TextDecoder().decode(files[path]) : undefined)
  return {
    find,
    read(path) {
      const text = find(path)
      if (text === undefined) throw new Error(`it has no part ${path}`)
      return text
    },
  }
}

/** First bytes of documents of Microsoft Office before 2007, and of encrypted ones of today. */
const compoundFile = Buffer.from('d0cf11e0a1b11ae1', 'hex')

/** Throws for a document with a password or of an older format, and for an archive that is too large unpacked. */
export function checkPacked(zip: Buffer): void {
  if (zip.subarray(0, compoundFile.length).equals(compoundFile))
    throw new Error('it has a password, or the format of Office before 2007: save it without a password in the current format')
  if (unpackedBytesOf(zip) > maxUnpackedBytes) throw new Error(`it unpacks to more than ${maxUnpackedBytes / 1_000_000} MB`)
}

/** Adds up the sizes in the directory before unpacking, since kilobytes can claim gigabytes. A broken archive is left to its reader. */
function unpackedBytesOf(zip: Buffer): number {
  const end = zip.lastIndexOf('PK\x05\x06', undefined, 'latin1')
  if (end === -1 || end + 20 > zip.length) return 0
  let total = 0
  let at = zip.readUInt32LE(end + 16)
  while (at + 46 <= zip.length && zip.readUInt32LE(at) === 0x02014b50) {
    total += zip.readUInt32LE(at + 24)
    at += 46 + zip.readUInt16LE(at + 28) + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32)
  }
  return total
}

/** The path of a file that another file refers to, without fragment. Undefined for an address outside of the document. */
export function pathFrom(base: string, reference: string): string | undefined {
  const url = URL.parse(reference, `packed:///${encodeURI(base)}`)
  if (url?.protocol !== 'packed:') return undefined
  try {
    return decodeURIComponent(url.pathname).replace(/^\/+/, '')
  } catch {
    return undefined
  }
}
