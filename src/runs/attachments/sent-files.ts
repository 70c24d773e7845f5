import { type SentDocument, toSentDocument, textOrScan, isRead, toCheckedFile, whyUnread, type CheckedFile } from './question-files.ts'
import { buffer } from 'node:stream/consumers'
import type { Owner } from '../../access/owner.ts'
import { ServiceError } from '../../errors.ts'
import type { Agent } from '../../configuration/agent.ts'
import { kindOf, maxDocumentBytes } from '../../files/document-kind.ts'
import { readDocumentBytes } from '../../files/document-text.ts'
import type { FittedImage, Images } from '../../files/images.ts'
import { type FairPool, PoolBusy } from '../../processes/fair-pool.ts'
import { mediaKindOf, mediaTypeOfBytes } from '../../files/media.ts'
import type { Uploads } from '../../uploads/uploads.ts'

/** A file that a caller sends with a chat, before any check: an upload, or the bytes themselves. */
export type SentFile = SentUpload | SentBytes

interface SentUpload {
  uploadId: string
  /** Names the file in errors: its position in the request. */
  label: string
  /** True where the caller calls the file an image. Other files are images by their type. */
  isImage?: boolean
  /** True for a context file: a missing one is reported as a missing path is. */
  isContextFile?: true
  /** True for a file of an earlier message: a client sends its whole conversation with each question. */
  isEarlier?: boolean
}

interface SentBytes {
  name: string
  /** Base64, or a data: URL. */
  content: string
  label: string
  /** As in `SentUpload`. */
  isEarlier?: boolean
}

/** What a model is shown of a file: an image, its text, or the file itself. `unread`: nothing. */
export type ReadFile = { image: FittedImage; name: string } | { document: SentDocument } | { file: CheckedFile } | { unread: true }

/** The caller, and the agent whose model reads the files. */
export interface FileUse {
  caller: Owner
  agent: Pick<Agent, 'model'>
}

export interface SentFileReader {
  /** Throws a `ServiceError` that names the file: `not_found`, `invalid_input`, `artifacts_unavailable` or `overloaded`. */
  read(files: readonly SentFile[], use: FileUse): Promise<ReadFile[]>
}

interface SentFileDependencies {
  uploads: Pick<Uploads, 'open'>
  images: Pick<Images, 'fromBytes'>
  parsing: FairPool
}

/** Documents of a chat; images have a limit of their own. */
const maxFiles = 20
/** Characters of all documents of a chat together, which are stored with the run. */
const maxCharacters = 1_000_000
/** Seconds. */
const retryAfter = 2

export function createSentFileReader({ uploads, images, parsing }: SentFileDependencies): SentFileReader {
  async function open(file: SentFile, caller: Owner): Promise<OpenFile> {
    if (!('uploadId' in file)) return openBytes(file)
    const { upload, content } = await uploads.open({ kind: 'own', tenant: caller.tenant, owner: caller.owner }, file.uploadId)
    const { name, type, size } = upload
    return { name, size, isImage: file.isImage ?? isPicture(type), read: () => buffer(content.read()), close: () => content.close() }
  }

  async function readOne(file: SentFile, { caller, agent: { model } }: FileUse): Promise<ReadFile> {
    const { name, size, isImage, read, close } = await open(file, caller)
    try {
      if (size > maxDocumentBytes) throw new Error(`it has ${size} bytes, more than the limit of ${maxDocumentBytes}`)
      const bytes = await read()
      if (isImage) return { image: await images.fromBytes(bytes, caller), name }
      const mediaType = mediaTypeOfBytes(bytes)
      if (mediaType === undefined) return { document: toSentDocument(name, await readDocumentBytes(bytes, kindOf(name, bytes), caller)) }
      const isDocument = mediaKindOf(mediaType) === 'document'
      if (isRead(model, mediaType)) {
        const { document, pages } = isDocument ? await textOrScan(readDocumentBytes(bytes, 'pdf', caller)) : {}
        const { label, isEarlier } = file
        return {
          file: toCheckedFile({ label, isEarlier, name, mediaType, bytes, document: document && toSentDocument(name, document), pages }),
        }
      }
      if (isDocument) return { document: toSentDocument(name, await readDocumentBytes(bytes, 'pdf', caller)) }
      if (file.isEarlier) return { unread: true }
      throw new Error(whyUnread(model, mediaType))
    } finally {
      await close()
    }
  }

  return {
    async read(files, use) {
      if (files.length > maxFiles) throw refusal(`${files.length} files were sent, at most ${maxFiles} are allowed`)
      const readFiles: ReadFile[] = []
      let characters = 0
      for (const file of files) {
        const content = await parsing.use({ caller: use.caller }, () => readOne(file, use)).catch((error: unknown) => rethrow(file, error))
        characters += 'document' in content ? content.document.text.length : 0
        if (characters > maxCharacters)
          throw refusal(`${file.label}: the documents have more than ${maxCharacters} characters of text together`)
        readFiles.push(content)
      }
      return readFiles
    },
  }
}

interface OpenFile {
  name: string
  size: number
  isImage: boolean
  read(): Promise<Buffer>
  close(): Promise<void>
}

const dataUrl = /^data:([^,;]{0,200})(?:;[^,]{0,500})?,/i

function openBytes({ name, content }: SentBytes): OpenFile {
  const start = dataUrl.exec(content.slice(0, 1000))
  const base64 = content.slice(start?.[0].length ?? 0)
  const type = start?.[1] ?? ''
  const size = Math.floor((base64.length * 3) / 4)
  const read = async () => {
    if (start && !/;base64,$/i.test(start[0])) throw new Error('its data: URL is not base64')
    const bytes = Buffer.from(base64, 'base64')
    if (bytes.length === 0) throw new Error('it is empty, or not base64')
    return bytes
  }
  return { name, size, isImage: isPicture(type), read, close: async () => undefined }
}

/** True for a file that the caller calls an image. */
export function isSentImage(file: SentFile): boolean {
  return 'uploadId' in file && file.isImage === true
}

/** An SVG file is text: no model takes it as an image. */
function isPicture(type: string): boolean {
  return type.toLowerCase().startsWith('image/') && !type.toLowerCase().startsWith('image/svg')
}

function rethrow(file: SentFile, error: unknown): never {
  const { label } = file
  if (error instanceof ServiceError && error.code === 'not_found') {
    const code = 'uploadId' in file && file.isContextFile ? 'invalid_input' : 'not_found'
    throw new ServiceError(code, `${label}: there is no such file.`)
  }
  if (error instanceof ServiceError) throw error
  if (error instanceof PoolBusy) throw new ServiceError('overloaded', `${label}: ${error.message}`, { cause: error, retryAfter })
  const isOfSystem = error instanceof Error && 'code' in error
  throw refusal(`${label}: ${error instanceof Error && !isOfSystem ? error.message.replace(/\.$/, '') : 'it cannot be read'}`, error)
}

function refusal(reason: string, cause?: unknown): ServiceError {
  return new ServiceError('invalid_input', `${reason}.`, { cause })
}
