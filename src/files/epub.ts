import { oneLine, toDocument, toMetadata, type Document, type Section } from './document.ts'
import { readHtml } from './html.ts'
import {
  openPackedFiles,
  pathFrom,
  type PackedFiles,
  attributeOf,
  elementsOf,
  nameOf,
  parseXml,
  textOf,
  type XmlNode,
} from './packed-files.ts'

interface ManifestItem {
  path: string
  properties: string
  mediaType: string
}

/** Reads a book in the order of its chapters. A chapter without a heading has the one of the table of contents. */
export async function readEpub(bytes: Buffer): Promise<Document> {
  const files = await openPackedFiles(bytes)
  const [rootFile] = elementsOf(parseXml(files.read('META-INF/container.xml')), 'rootfile')
  const packagePath = rootFile ? attributeOf(rootFile, 'full-path') : ''
  const book = parseXml(files.read(packagePath))
  const items = itemsOf(book, packagePath)
  const isNavigation = (item: ManifestItem) => item.properties.split(' ').includes('nav')
  const chapters = elementsOf(book, 'itemref')
    .map((reference) => items.get(attributeOf(reference, 'idref')))
    .filter((item) => item !== undefined && !isNavigation(item))
  checkReadable(files, chapters)
  const titles = titlesOf(
    files,
    [...items.values()].find(isNavigation) ?? [...items.values()].find(({ mediaType }) => mediaType.endsWith('ncx+xml')),
  )
  const sections = chapters.flatMap((chapter) => readChapter(files.find(chapter!.path) ?? '', titles.get(chapter!.path) ?? ''))
  return toDocument(
    sections,
    toMetadata({ title: textOf(book, 'title'), author: textOf(book, 'creator'), language: textOf(book, 'language') }),
  )
}

function itemsOf(book: XmlNode, packagePath: string): Map<string, ManifestItem> {
  return new Map(
    elementsOf(book, 'item').flatMap((item) => {
      const path = pathFrom(packagePath, attributeOf(item, 'href'))
      const properties = { properties: attributeOf(item, 'properties'), mediaType: attributeOf(item, 'media-type') }
      return path === undefined ? [] : [[attributeOf(item, 'id'), { path, ...properties }] as const]
    }),
  )
}

/** Books of shops are often encrypted. Their table of contents is not, so the chapters decide. */
function checkReadable(files: PackedFiles, chapters: readonly (ManifestItem | undefined)[]): void {
  const encryption = files.find('META-INF/encryption.xml')
  if (encryption === undefined) return
  const encrypted = new Set(elementsOf(parseXml(encryption), 'CipherReference').map((part) => pathFrom('', attributeOf(part, 'URI'))))
  if (chapters.some((chapter) => encrypted.has(chapter?.path))) throw new Error('it is protected against copying')
}

/** The first title of each file in the table of contents: `nav.xhtml` of EPUB 3 or `toc.ncx` of EPUB 2. */
function titlesOf(files: PackedFiles, contents: ManifestItem | undefined): Map<string, string> {
  const titles = new Map<string, string>()
  const text = contents && files.find(contents.path)
  if (!text) return titles
  const entries: { reference: string; title: string }[] = []
  const collect = (node: XmlNode): void => {
    if (nameOf(node) === 'a') entries.push({ reference: attributeOf(node, 'href'), title: node.textContent ?? '' })
    if (nameOf(node) === 'navPoint')
      entries.push({ reference: attributeOf(elementsOf(node, 'content')[0] ?? node, 'src'), title: textOf(node, 'text') })
    for (const child of node.childNodes) collect(child)
  }
  collect(parseXml(text))
  for (const { reference, title } of entries) {
    const path = pathFrom(contents.path, reference)
    if (path !== undefined && !titles.has(path)) titles.set(path, oneLine(title))
  }
  return titles
}

function readChapter(xhtml: string, title: string): Omit<Section, 'start'>[] {
  const { sections } = readHtml(withEndTags(xhtml))
  const hasHeading = sections.some(({ heading }) => heading !== '')
  return sections.map(({ heading, text }) => ({ heading: hasHeading ? heading : title, text }))
}

/** Elements without an end in HTML. */
const emptyElements = /^(?:br|hr|img|meta|link|input|col|area|base|wbr)\b/i

/** Writes `<title/>` as `<title></title>`: in HTML, the first would make the rest of the page its title. */
function withEndTags(xhtml: string): string {
  return xhtml.replace(/<([a-z][^<>]*)\/>/gi, (tag, inside: string) => {
    const [name = ''] = inside.split(/\s/, 1)
    return emptyElements.test(name) ? tag : `<${inside}></${name}>`
  })
}
