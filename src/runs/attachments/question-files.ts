import { pagesOfScan } from '../../files/document-text.ts'
import { type Document } from '../../files/document.ts'
import type { Model } from '../../agent/model.ts'
import { mediaKindOf } from '../../files/media.ts'
import type { FileReference } from '../../sessions/message.ts'

/** Documents, audio and videos of a question that the model reads itself. */

/** A file of a question, as its run stores it. The bytes are in the store, under the run and the position in the list. */
export interface QuestionFile extends FileReference {
  /** Set on a context file: `name` is the path. */
  isContextFile?: true
  /** The text for a model that does not read the file; absent for audio, videos, scanned documents and very long texts. */
  document?: SentDocument
}

/** A file that the model of the agent can read, with its bytes. */
export interface CheckedFile {
  file: QuestionFile
  /** Base64. */
  data: string
  /** Names the file in errors. */
  label: string
  /** True for a file of an earlier message that the client has sent again. */
  isEarlier: boolean
  /** True where the file can also go to the model as text. */
  hasText: boolean
}

export const maxQuestionFiles = 5
/**
 * Bytes of all images and files of a question, and of those of earlier turns. In base64 they take 27 MB of the 32 MB that the smallest limit
 * of the providers leaves for a request.
 */
export const maxMediaBytes = 20_000_000
/** Characters of the texts that are stored beside the files. A longer text would not fit into the window of another model. */
const maxTextCharacters = 1_000_000

export function isRead(model: Pick<Model, 'readsFiles'>, mediaType: string): boolean {
  return model.readsFiles?.(mediaType) === true
}

/** Why a model cannot read a file, as a sentence without its full stop. */
export function whyUnread({ name }: Pick<Model, 'name'>, mediaType: string): string {
  const kind = mediaKindOf(mediaType)
  if (kind === 'document') return `The model ${name} cannot read documents (${mediaType})`
  return `The model ${name} cannot ${kind === 'audio' ? 'hear audio' : 'watch videos'} (${mediaType})`
}

interface FileSource {
  name: string
  mediaType: string
  bytes: Buffer
  label: string
  isEarlier?: boolean | undefined
  isContextFile?: true
  document: SentDocument | undefined
  /** Number of pages, where the document tells it. */
  pages?: number | undefined
}

export function toCheckedFile({
  name,
  mediaType,
  bytes,
  label,
  isEarlier = false,
  isContextFile,
  document,
  pages,
}: FileSource): CheckedFile {
  const tokens = estimateTokens(mediaType, bytes.length, document?.text.length, pages)
  const text = document && document.text.length <= maxTextCharacters ? { document } : {}
  const file = { name, mediaType, size: bytes.length, tokens, ...(pages && { pages }), ...(isContextFile && { isContextFile }), ...text }
  const hasText = isContextFile ? document !== undefined : 'document' in text
  return { file, data: bytes.toString('base64'), label, isEarlier, hasText }
}

/** Tokens of a page beside its text, as models see each page also as a picture. */
const tokensPerPage = 300
/** A scanned page has about 150 kB, and takes about 1,500 tokens. */
const scannedBytesPerToken = 100
/** A second of audio takes up to 32 tokens and about 16 kB, a second of video 300 tokens and about 150 kB. */
const recordedBytesPerToken = 500

/** A rough estimate, because each provider counts in its own way. Decides only how many files of earlier turns are shown again. */
function estimateTokens(mediaType: string, bytes: number, characters: number | undefined, pages = 0): number {
  if (mediaKindOf(mediaType) !== 'document') return Math.ceil(bytes / recordedBytesPerToken)
  return characters === undefined ? Math.ceil(bytes / scannedBytesPerToken) : Math.ceil(characters / 4) + pages * tokensPerPage
}

export interface SelectedFiles {
  /** Read by the model itself, in the order of the request. */
  shown: CheckedFile[]
  /** Go to the model as text. */
  asText: CheckedFile[]
  /** A file of the question that is too much, and has no text. */
  refused: CheckedFile | undefined
}

/**
 * Selects the files that go to the model as files: first those of the question without a text, then its documents, then the newest earlier
 * ones. Documents beyond the limits go as text; earlier files without a text are left out.
 */
export function selectFiles(files: readonly CheckedFile[], imageBytes: number): SelectedFiles {
  const own = files.filter(({ isEarlier }) => !isEarlier)
  const byNeed = [...own.filter(({ hasText }) => !hasText), ...own.filter(({ hasText }) => hasText)]
  const budget = { files: maxQuestionFiles, bytes: maxMediaBytes - imageBytes }
  const chosen = new Set<CheckedFile>()
  for (const file of [...byNeed, ...files.filter(({ isEarlier }) => isEarlier).toReversed()]) {
    const { size } = file.file
    if (budget.files === 0 || size > budget.bytes) continue
    chosen.add(file)
    budget.files -= 1
    budget.bytes -= size
  }
  const rest = files.filter((file) => !chosen.has(file))
  return {
    shown: withBoundedTexts(files.filter((file) => chosen.has(file))),
    asText: rest.filter(({ hasText }) => hasText),
    refused: rest.find(({ hasText, isEarlier }) => !hasText && !isEarlier),
  }
}

/** Leaves out the texts that are too much together: only a model that does not read documents would need them. */
function withBoundedTexts(files: readonly CheckedFile[]): CheckedFile[] {
  let characters = 0
  return files.map((checked) => {
    const { document, ...file } = checked.file
    characters += document?.text.length ?? 0
    return characters > maxTextCharacters ? { ...checked, file } : checked
  })
}

/** Why a file of a question is refused. */
export const tooMuchMedia = `at most ${maxQuestionFiles} documents, audio files and videos, with at most ${maxMediaBytes / 1_000_000} MB together with the images, are allowed in one question`

/**
 * A document of a chat as text, without a copy of the text in each section. The text is stored with the run: an upload that is deleted later
 * is not missed.
 */
export interface SentDocument {
  name: string
  text: string
  sections: { heading: string; start: number; length: number; page?: number }[]
}

export function toSentDocument(name: string, { text, sections }: Document): SentDocument {
  const packed = sections.map(({ heading, start, text: { length }, page }) => ({ heading, start, length, ...(page && { page }) }))
  return { name, text, sections: packed }
}

export function toDocument({ text, sections }: SentDocument): Document {
  return {
    text,
    sections: sections.map(({ length, ...place }) => ({ ...place, text: text.slice(place.start, place.start + length) })),
    metadata: {},
  }
}

/** A document with the number of its pages; a scanned one, which only a model can read, has no text. */
export async function textOrScan(reading: Promise<Document>): Promise<{ document?: Document; pages: number }> {
  try {
    const document = await reading
    return { document, pages: Number(document.metadata['pages'] ?? 0) }
  } catch (error) {
    const pages = pagesOfScan(error)
    if (pages === undefined) throw error
    return { pages }
  }
}

/** Gives files of the same name different names, so that a tool can read each. */
export function withDistinctNames(documents: readonly SentDocument[], taken: readonly string[]): SentDocument[] {
  const names = new Set(taken)
  return documents.map((document) => {
    let name = document.name
    for (let n = 2; names.has(name); n++) name = `${n} ${document.name}`
    names.add(name)
    return { ...document, name }
  })
}
