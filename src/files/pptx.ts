import { toDocument, toMetadata, type Document, type Section } from './document.ts'
import { openPackedFiles, pathFrom, type PackedFiles } from './packed-files.ts'
import { attributeOf, elementsOf, isText, nameOf, parseXml, textOf, type XmlNode } from './xml.ts'

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
