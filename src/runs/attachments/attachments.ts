import path from 'node:path'
import type { Owner } from '../../access/owner.ts'
import type { Image } from '../../agent/messages.ts'
import type { DataFilter } from '../../agent/tool.ts'
import type { Agent } from '../../configuration/agent.ts'
import { invalid, ServiceError, type Fault } from '../../errors.ts'
import type { DocumentCache } from '../../files/document-text.ts'
import type { Document } from '../../files/document.ts'
import { createFairPool } from '../../processes/fair-pool.ts'
import type { FittedImage, Images } from '../../files/images.ts'
import { isHidden } from '../../files/patterns.ts'
import { PathError, type FilesRoot } from '../../files/root.ts'
import type { ImageReference } from '../../sessions/message.ts'
import { uploadIn } from '../../uploads/upload-store.ts'
import type { Uploads } from '../../uploads/uploads.ts'
import { attempt, refused, valueOf, type Attempt, createContextReader, type Located } from './context-reader.ts'
import { selectFiles, tooMuchMedia, type CheckedFile, type QuestionFile, withDistinctNames, type SentDocument } from './question-files.ts'
import { createSentFileReader, isSentImage, type ReadFile, type SentFile } from './sent-files.ts'

/** Images and context files of a chat request, before any check. */
export interface RequestedAttachments {
  images: readonly { content: string; type: 'base64' | 'file_path' }[]
  /** Paths under the files root, and ids of uploads. */
  contextFiles: readonly string[]
  /** Files that are no paths: documents, and further images. */
  sentFiles?: readonly SentFile[]
}

/** Checked attachments. `pictures` are the bytes of `images`, and `fileBytes` those of `files`, in the same order. */
export interface CheckedAttachments {
  images: ImageReference[]
  pictures: Image[]
  contextFiles: string[]
  documents: SentDocument[]
  files: QuestionFile[]
  fileBytes: Image[]
}

/** The caller, agent and data filters that decide which attachments are permitted. */
interface AttachmentUse {
  caller: Owner
  agent: Agent
  filters: readonly DataFilter[]
}

export interface Attachments {
  /**
   * Checks and loads the attachments. Throws a `ServiceError` that names the refused attachment: `validation` for a file that a data filter
   * withholds, `invalid_input` for every other fault, `overloaded` when too many files are waiting. `at` is the position of the chat in the
   * HTTP request.
   */
  check(requested: RequestedAttachments, use: AttachmentUse, at: Fault['loc']): Promise<CheckedAttachments>
  /** Reads the current content of a checked context file. Throws the errors of `check`, without a position in the request. */
  read(name: string, use: AttachmentUse): Promise<Document>
}

const maxImages = 5
/** Context files that are parsed at the same time. */
const maxParsed = 4
/** Waiting files per caller. A waiting file costs no more memory than a path. */
const maxWaiting = 1000

export interface AttachmentDependencies {
  files: FilesRoot
  documents: DocumentCache
  images: Images
  uploads: Pick<Uploads, 'open'>
}

export function createAttachments({ files, documents, images, uploads }: AttachmentDependencies): Attachments {
  const parsing = createFairPool({ slots: maxParsed, maxWaiting })
  const sentFiles = createSentFileReader({ uploads, images, parsing })
  const contextReader = createContextReader({ documents, parsing })

  async function locate(requestedPath: string): Promise<Located> {
    const name = files.normalise(requestedPath)
    const absolute = isHidden(name) ? undefined : await files.resolve(name)
    const canonical = absolute && path.relative(files.path, absolute).split(path.sep).join('/')
    // Hidden files are reported as missing, as the file tools do.
    if (!absolute || !canonical || isHidden(canonical)) throw new PathError(`${requestedPath} does not exist.`)
    return { name, absolute, canonical }
  }

  async function check(requested: RequestedAttachments, use: AttachmentUse, at: Fault['loc']): Promise<CheckedAttachments> {
    const contextPaths = await Promise.all(
      requested.contextFiles.map((name) => attempt(uploadIn(name) === undefined ? locate(name) : noPath)),
    )
    const checkedImages = requested.images.slice(0, maxImages)
    const imagePaths = await Promise.all(checkedImages.map((image) => attempt(image.type === 'file_path' ? locate(image.content) : noPath)))
    // Faults of the request are reported before faults of the files' contents.
    for (const [field, attempts] of [
      ['context_files', contextPaths],
      ['images', imagePaths],
    ] as const) {
      for (const [n, { value }] of attempts.entries()) {
        if (value) refuseWithheld(value, use, (reason) => invalid([...at, field, n], reason))
      }
    }
    refuseImages(requested.images.length + (requested.sentFiles ?? []).filter(isSentImage).length, use)
    const { contextFiles, files: ownFiles } = await contextReader.check(contextPaths, use)
    const fitted = await checkImages(requested, imagePaths, use.caller)
    const sent = await sentFiles.read([...uploadsIn(requested.contextFiles), ...(requested.sentFiles ?? [])], use)
    const sentImages = sent.flatMap((file) => ('image' in file ? [file] : []))
    refuseImages(requested.images.length + sentImages.length, use)
    const pictures = [...fitted, ...sentImages.map(({ image }) => image)].map(({ mediaType, data }) => ({ mediaType, data }))
    const references = sentImages.map(({ image, name }) => ({ name, mediaType: image.originalType }))
    const { shown, documents } = select(sent, ownFiles, pictures)
    return {
      contextFiles,
      pictures,
      images: [...toReferences(fitted, imagePaths), ...references],
      documents: withDistinctNames(documents, contextFiles),
      files: shown.map(({ file }) => file),
      fileBytes: shown.map(({ file: { mediaType }, data }) => ({ mediaType, data })),
    }
  }

  async function checkImages(
    requested: RequestedAttachments,
    paths: readonly Attempt<Located | undefined>[],
    caller: Owner,
  ): Promise<FittedImage[]> {
    const located = paths.map((file, at) => valueOf(file, `images[${at}]`))
    const readings = await Promise.all(
      requested.images.map(({ content }, at) =>
        attempt(located[at] ? images.fromFile(located[at].absolute, caller) : images.fromText(content, caller)),
      ),
    )
    return readings.map((reading, at) => valueOf(reading, `images[${at}]${located[at] ? `: ${located[at].name}` : ''}`))
  }

  return {
    check,
    async read(name, use) {
      const located = await locate(name)
      refuseWithheld(located, use, (reason) => new ServiceError('invalid_input', `${name}: ${reason}`))
      return contextReader.parse(located.absolute, use.caller)
    },
  }
}

/** Divides documents, audio and videos into files that the model reads, and files that go as text. */
function select(
  sent: readonly ReadFile[],
  contextFiles: readonly CheckedFile[],
  pictures: readonly Image[],
): { shown: CheckedFile[]; documents: SentDocument[] } {
  const files = [...contextFiles, ...sent.flatMap((each) => ('file' in each ? [each.file] : []))]
  const imageBytes = pictures.reduce((sum, { data }) => sum + Math.ceil((data.length * 3) / 4), 0)
  const { shown, asText, refused: refusedFile } = selectFiles(files, imageBytes)
  if (refusedFile) throw refused(refusedFile.label, tooMuchMedia)
  const texts = new Set(asText)
  const documents = sent.flatMap((each) => {
    if ('document' in each) return [each.document]
    return 'file' in each && texts.has(each.file) && each.file.file.document ? [each.file.file.document] : []
  })
  return { shown, documents }
}

function refuseImages(count: number, { agent }: AttachmentUse): void {
  if (count > maxImages) throw refused('images', `${count} were sent, at most ${maxImages} are allowed`)
  const { seesImages, name } = agent.model
  if (count > 0 && !seesImages) throw refused('images', `The model ${name} cannot see images`)
}

/** Throws when a tool with a data filter reads this file: such a file may be read through that tool only, which applies the filter. */
function refuseWithheld({ name, canonical }: Located, { agent, filters }: AttachmentUse, toError: (reason: string) => ServiceError): void {
  if (filters.length === 0) return
  const hinted = new Set(filters.map((filter) => filter.tool))
  const reader = agent.tools
    .list()
    .find((listing) => hinted.has(listing.name) && (listing.tool?.readsFile?.(name) || listing.tool?.readsFile?.(canonical)))
  if (reader) throw toError(`${name} belongs to the tool ${reader.name}, which has a data filter`)
}

/** Uploads among the context files. An upload that is named twice counts once. */
function uploadsIn(contextFiles: readonly string[]): SentFile[] {
  const uploads = new Map<string, SentFile>()
  for (const [at, name] of contextFiles.entries()) {
    const uploadId = uploadIn(name)
    if (uploadId !== undefined && !uploads.has(uploadId)) {
      uploads.set(uploadId, { uploadId, label: `context_files[${at}]`, isContextFile: true })
    }
  }
  return [...uploads.values()]
}

function toReferences(fitted: readonly FittedImage[], paths: readonly Attempt<Located | undefined>[]): ImageReference[] {
  return fitted.map(({ originalType }, at) => {
    const fileName = paths[at]?.value?.name
    return { name: fileName ?? `image-${at + 1}.${originalType.split('/')[1]}`, mediaType: originalType }
  })
}

/** The path of an inline image, and of an upload. */
const noPath = Promise.resolve(undefined)
