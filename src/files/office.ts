import { byLibrary, oneLine, toDocument, type Document, toMetadata, type Section } from './document.ts'
import { readHtml, tidy } from './html.ts'
import {
  repack,
  openPackedFiles,
  pathFrom,
  type PackedFiles,
  attributeOf,
  elementsOf,
  isText,
  nameOf,
  parseXml,
  textOf,
  type XmlNode,
} from './packed-files.ts'
import { toSections } from './markdown.ts'

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
  const cells = row.map((cell) => (cell instanceof Date ? toDay(cell) : cell === null ? '' : oneLine(String(cell))))
  return cells.some(Boolean) ? cells.join(' | ').trimEnd() : ''
}

function toDay(date: Date): string {
  return date.toISOString().replace('T00:00:00.000Z', '').replace('.000Z', 'Z')
}

const presentation = 'ppt/presentation.xml'
/** Placeholders that repeat on each slide. */
const repeatedPlaceholders = ['sldNum', 'dt', 'ftr', 'hdr', 'sldImg']

/** Reads a section for each slide under its title, with tables, diagrams and the notes of the speaker. The page is the number of the slide. */
export async function readPptx(bytes: Buffer): Promise<Document> {
  const files = await openPackedFiles(bytes)
  const targets = relationsOf(files, presentation)
  const slides = elementsOf(parseXml(files.read(presentation)), 'sldId')
    .map((slide) => targets.get(attributeOf(slide, 'r:id'))?.path)
    .filter((path) => path !== undefined)
  const sections = slides.map((path, index) => readSlide(files, path, index + 1))
  const properties = parseXml(files.find('docProps/core.xml') ?? '<none/>')
  const metadata = { title: textOf(properties, 'title'), author: textOf(properties, 'creator'), pages: slides.length }
  return toDocument(sections, toMetadata(metadata))
}

function readSlide(files: PackedFiles, path: string, page: number): Omit<Section, 'start'> {
  const slide = parseXml(files.read(path))
  const isTitle = (shape: XmlNode) => ['title', 'ctrTitle'].includes(placeholderOf(shape))
  const shapes = shapesOf(slide)
  const title = shapes.filter(isTitle).map(linesOf).flat().join(' ').trim()
  const related = [...relationsOf(files, path).values()]
  const contentOf = (kind: string) =>
    related
      .flatMap((part) => (part.kind === kind ? [files.find(part.path)] : []))
      .filter(Boolean)
      .map((text) => parseXml(text!))
  const diagrams = contentOf('diagramData').flatMap(linesOf)
  const notes = contentOf('notesSlide').flatMap((notesPage) => shapesOf(notesPage).flatMap(linesOf))
  const body = [...shapes.filter((shape) => !isTitle(shape)).flatMap(linesOf), ...diagrams].join('\n')
  const text = [body, notes.length > 0 ? `Notes: ${notes.join('\n')}` : ''].filter(Boolean).join('\n\n')
  return { heading: title || `Slide ${page}`, text, page }
}

/** Shapes with text and tables, without those that repeat on each slide. */
function shapesOf(slide: XmlNode): XmlNode[] {
  return elementsOf(slide, 'sp', 'tbl').filter((shape) => !repeatedPlaceholders.includes(placeholderOf(shape)))
}

function placeholderOf(shape: XmlNode): string {
  const [placeholder] = elementsOf(shape, 'ph')
  return placeholder ? attributeOf(placeholder, 'type') : ''
}

/** The paragraphs of a shape, or the rows of a table. */
function linesOf(node: XmlNode): string[] {
  if (nameOf(node) === 'tbl') {
    const rows = elementsOf(node, 'tr').map((row) => elementsOf(row, 'tc').map((cell) => linesOf(cell).join(' ')))
    return rows.map((cells) => `| ${cells.join(' | ')} |`)
  }
  return elementsOf(node, 'p')
    .map((paragraph) => runsOf(paragraph).trim())
    .filter(Boolean)
}

function runsOf(node: XmlNode): string {
  const name = nameOf(node)
  if (name === 't')
    return [...node.childNodes]
      .filter(isText)
      .map((text) => text.textContent ?? '')
      .join('')
  return name === 'br' ? '\n' : [...node.childNodes].map(runsOf).join('')
}

/** The parts that a part refers to, by id. `kind` is the last word of the type of the relation. */
function relationsOf(files: PackedFiles, part: string): Map<string, { kind: string; path: string }> {
  const text = files.find(part.replace(/([^/]*)$/, '_rels/$1.rels'))
  const relations = text === undefined ? [] : elementsOf(parseXml(text), 'Relationship')
  return new Map(
    relations.flatMap((relation) => {
      const path = attributeOf(relation, 'TargetMode') === 'External' ? undefined : pathFrom(part, attributeOf(relation, 'Target'))
      const kind = attributeOf(relation, 'Type').split('/').at(-1) ?? ''
      return path === undefined ? [] : [[attributeOf(relation, 'Id'), { kind, path }] as const]
    }),
  )
}

/** Reads a text of OpenDocument with headings, lists and table rows in Markdown, without comments and deleted text. */
export async function readOdt(bytes: Buffer): Promise<Document> {
  const files = await openPackedFiles(bytes)
  const manifest = files.find('META-INF/manifest.xml')
  if (manifest?.includes('encryption-data')) throw new Error('it has a password: save it without a password')
  const [body] = elementsOf(parseXml(files.read('content.xml')), 'text')
  if (!body) throw new Error('it is not a text document')
  const text = tidy([...body.childNodes].map(toText).join(''))
  const properties = parseXml(files.find('meta.xml') ?? '<none/>')
  const author = textOf(properties, 'creator') || textOf(properties, 'initial-creator')
  return { text, sections: toSections(text), metadata: toMetadata({ title: textOf(properties, 'title'), author }) }
}

const skippedElements = new Set([
  'annotation',
  'tracked-changes',
  'forms',
  'sequence-decls',
  'note-citation',
  'user-field-decls',
  'variable-decls',
])
const maxSpaces = 100

function toText(node: XmlNode): string {
  if (isText(node)) return (node.textContent ?? '').replace(/\s+/g, ' ')
  const name = nameOf(node)
  if (name === '' || skippedElements.has(name)) return ''
  if (name === 's') return ' '.repeat(Math.min(maxSpaces, Number(attributeOf(node, 'text:c')) || 1))
  if (name === 'tab') return '\t'
  if (name === 'line-break') return '\n'
  const inside = [...node.childNodes].map(toText).join('')
  if (name === 'h') return `\n\n${'#'.repeat(levelOf(node))} ${oneLine(inside)}\n\n`
  if (name === 'p') return `\n\n${inside}\n\n`
  if (name === 'list-item') return `\n- ${inside.trim()}\n`
  if (name === 'table-cell') return ` ${oneLine(inside)} |`
  if (name === 'table-row') return `\n|${inside}`
  if (name === 'note') return ` (${oneLine(inside)})`
  return name === 'table' || name === 'list' ? `\n\n${inside}\n\n` : inside
}

function levelOf(heading: XmlNode): number {
  return Math.min(6, Math.max(1, Number(attributeOf(heading, 'text:outline-level')) || 1))
}
