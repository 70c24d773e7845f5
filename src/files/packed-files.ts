import { zipSync } from 'fflate'
import { fromBufferPromise, type Entry, type ZipFile } from 'yauzl'
import { checkDepth } from './depth.ts'
import { byLibrary } from './document.ts'
import { DOMParser } from 'linkedom'

/** Maximum unpacked size of a document: fifty times more than people write, far less than would exhaust a process. */
const maxUnpackedBytes = 300_000_000
const maxEntries = 100_000

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
export async function openPackedFiles(zip: Buffer): Promise<PackedFiles> {
  const files = await unpack(zip)
  const find = (path: string) => {
    const bytes = files.get(path)
    return bytes && new TextDecoder().decode(bytes)
  }
  return {
    find,
    read(path) {
      const text = find(path)
      if (text === undefined) throw new Error(`it has no part ${path}`)
      return text
    },
  }
}

/**
 * The text files of a document as an archive without compression, for a library that unpacks by itself and trusts the sizes that an archive
 * states. Throws as `openPackedFiles` does, and for files that are nested too deeply.
 */
export async function repack(zip: Buffer): Promise<Buffer> {
  const files = await unpack(zip)
  for (const bytes of files.values()) checkDepth(new TextDecoder().decode(bytes), { isXml: true })
  return Buffer.from(zipSync(Object.fromEntries(files), { level: 0 }))
}

/** First bytes of documents of Microsoft Office before 2007, and of encrypted ones of today. */
const compoundFile = Buffer.from('d0cf11e0a1b11ae1', 'hex')

/** Counts bytes while they are unpacked: kilobytes can become gigabytes, whatever size the archive states. */
async function unpack(zip: Buffer): Promise<Map<string, Uint8Array>> {
  if (zip.subarray(0, compoundFile.length).equals(compoundFile))
    throw new Error('it has a password, or the format of Office before 2007: save it without a password in the current format')
  const archive = await byLibrary(() => fromBufferPromise(zip, { lazyEntries: true, decodeStrings: false }))
  if (archive.entryCount > maxEntries) throw new Error(`it has more than ${maxEntries} parts`)
  const files = new Map<string, Uint8Array>()
  let remaining = maxUnpackedBytes
  for await (const entry of entriesOf(archive)) {
    const path = entry.fileNameRaw.toString('utf8').replaceAll('\\', '/')
    if (!textFile.test(path)) continue
    if (entry.uncompressedSize > remaining) throw tooLarge()
    const bytes = await byLibrary(() => readEntry(archive, entry, remaining))
    if (!bytes) throw tooLarge()
    remaining -= bytes.length
    files.set(path, bytes)
  }
  return files
}

async function* entriesOf(archive: ZipFile): AsyncGenerator<Entry> {
  const entries = archive.eachEntry()
  for (;;) {
    const { value, done } = await byLibrary(() => entries.next())
    if (done) return
    yield value
  }
}

/** The content of a file; undefined for more than `limit` bytes. */
async function readEntry(archive: ZipFile, entry: Entry, limit: number): Promise<Uint8Array | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of (await archive.openReadStreamPromise(entry)) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > limit) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function tooLarge(): Error {
  return new Error(`it unpacks to more than ${maxUnpackedBytes / 1_000_000} MB`)
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

/** An element, a text or something else of an XML document. */
export interface XmlNode {
  nodeType: number
  /** With its prefix. */
  tagName?: string
  textContent: string | null
  childNodes: Iterable<XmlNode>
  getAttribute?(name: string): string | null
}

/** Entities of a document type are not expanded. Throws for a text without an element, and for elements that are nested too deeply. */
export function parseXml(text: string): XmlNode {
  checkDepth(text, { isXml: true })
  const root = new DOMParser().parseFromString(text, 'text/xml').documentElement as XmlNode | null
  if (!root) throw new Error('a part of it is not XML')
  return root
}

/** The name of an element without its prefix. Empty for any other node. */
export function nameOf(node: XmlNode): string {
  return node.nodeType === 1 ? (node.tagName ?? '').slice((node.tagName ?? '').lastIndexOf(':') + 1) : ''
}

export function isText(node: XmlNode): boolean {
  return node.nodeType === 3 || node.nodeType === 4
}

export function attributeOf(node: XmlNode, name: string): string {
  return node.getAttribute?.(name) ?? ''
}

/** The elements below `node` with one of the names, in the order of the document, without those inside another. */
export function elementsOf(node: XmlNode, ...names: string[]): XmlNode[] {
  return [...node.childNodes].flatMap((child) => (names.includes(nameOf(child)) ? [child] : elementsOf(child, ...names)))
}

/** The text of the first element with the name, or an empty text. */
export function textOf(node: XmlNode, name: string): string {
  return elementsOf(node, name)[0]?.textContent?.trim() ?? ''
}
