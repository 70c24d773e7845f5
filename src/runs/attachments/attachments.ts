import { stat } from 'node:fs/promises'
import path from 'node:path'
import type { Owner } from '../../access/owner.ts'
import type { Image } from '../../agent/messages.ts'
import type { DataFilter } from '../../agent/tool.ts'
import type { Agent } from '../../configuration/agent.ts'
import { invalid, ServiceError, type Fault } from '../../errors.ts'
import type { DocumentCache } from '../../files/document-cache.ts'
import type { Document } from '../../files/document.ts'
import { createFairPool } from '../../processes/fair-pool.ts'
import { PoolBusy } from '../../processes/fair-queue.ts'
import type { FittedImage, Images } from '../../files/images.ts'
import { isHidden } from '../../files/patterns.ts'
import { PathError, type FilesRoot } from '../../files/root.ts'
import type { ImageReference } from '../../sessions/message.ts'
import type { Uploads } from '../../uploads/uploads.ts'
import { createSentFileReader, isSentImage, withDistinctNames, type SentDocument, type SentFile } from './sent-files.ts'

/** Images and context files of a chat request, before any check. */
export interface RequestedAttachments {
  images: readonly { content: string; type: 'base64' | 'file_path' }[]
  /** Paths under the files root. */
  contextFiles: readonly string[]
  /** Files that are no paths: documents, and further images. */
  sentFiles?: readonly SentFile[]
}

/** Checked attachments. `pictures` are the bytes of `images`, in the same order. */
export interface CheckedAttachments {
  images: ImageReference[]
  pictures: Image[]
  contextFiles: string[]
  documents: SentDocument[]
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
/** Limit for all context files of one chat together. */
const maxContextBytes = 100_000_000
const maxReadMs = 60_000
/** Context files that are parsed at the same time. */
const maxParsed = 4
/** Waiting files per caller. A waiting file costs no more memory than a path. */
const maxWaiting = 1000
/** Seconds. */
const retryAfter = 2

interface Located {
  /** Normalised path, relative to the files root. */
  name: string
  absolute: string
  /** Path relative to the files root after symbolic links are resolved. */
  canonical: string
}

export interface AttachmentDependencies {
  files: FilesRoot
  documents: DocumentCache
  images: Images
  uploads: Pick<Uploads, 'open'>
}

export function createAttachments({ files, documents, images, uploads }: AttachmentDependencies): Attachments {
  const parsing = createFairPool({ slots: maxParsed, maxWaiting })
  const sentFiles = createSentFileReader({ uploads, images, parsing })

  async function locate(requestedPath: string): Promise<Located> {
    const name = files.normalise(requestedPath)
    const absolute = isHidden(name) ? undefined : await files.resolve(name)
    const canonical = absolute && path.relative(files.path, absolute).split(path.sep).join('/')
    // Hidden files are reported as missing, as the file tools do.
    if (!absolute || !canonical || isHidden(canonical)) throw new PathError(`${requestedPath} does not exist.`)
    return { name, absolute, canonical }
  }

  async function check(requested: RequestedAttachments, use: AttachmentUse, at: Fault['loc']): Promise<CheckedAttachments> {
    const contextPaths = await Promise.all(requested.contextFiles.map((name) => attempt(locate(name))))
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
    const contextFiles = await checkContext(contextPaths, use.caller)
    const fitted = await checkImages(requested, imagePaths, use.caller)
    const sent = await sentFiles.read(requested.sentFiles ?? [], use.caller)
    const sentImages = sent.flatMap((file) => ('image' in file ? [file] : []))
    refuseImages(requested.images.length + sentImages.length, use)
    const pictures = [...fitted, ...sentImages.map(({ image }) => image)].map(({ mediaType, data }) => ({ mediaType, data }))
    const references = sentImages.map(({ image, name }) => ({ name, mediaType: image.originalType }))
    const sentDocuments = sent.flatMap((file) => ('document' in file ? [file.document] : []))
    return {
      contextFiles,
      pictures,
      images: [...toReferences(fitted, imagePaths), ...references],
      documents: withDistinctNames(sentDocuments, contextFiles),
    }
  }

  /** Reads each distinct file once, so that an unreadable file is refused before the run is stored. */
  async function checkContext(paths: readonly Attempt<Located>[], caller: Owner): Promise<string[]> {
    const located = paths.map((file, at) => valueOf(file, `context_files[${at}]`))
    const unique = [...new Map(located.map((file, at) => [file.absolute, { ...file, at }] as const)).values()]
    const sizes = await Promise.all(
      unique.map(({ absolute }) =>
        stat(absolute).then(
          ({ size }) => size,
          () => 0,
        ),
      ),
    )
    const total = sizes.reduce((sum, size) => sum + size, 0)
    if (total > maxContextBytes)
      throw refused('context_files', `the files have ${total} bytes in total, at most ${maxContextBytes} are allowed`)
    const deadline = AbortSignal.timeout(maxReadMs)
    const readings = await Promise.all(unique.map(({ absolute }) => attempt(parse(absolute, caller, deadline))))
    for (const [index, reading] of readings.entries()) valueOf(reading, `context_files[${unique[index]!.at}]: ${unique[index]!.name}`)
    return unique.map(({ name }) => name)
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

  function parse(absolute: string, caller: Owner, deadline?: AbortSignal): Promise<Document> {
    return parsing.use({ caller }, async () => {
      if (deadline?.aborted) throw new Error(`Reading the context files took longer than ${maxReadMs / 1000} s.`)
      return documents.read(absolute, caller)
    })
  }

  return {
    check,
    async read(name, use) {
      const located = await locate(name)
      refuseWithheld(located, use, (reason) => new ServiceError('invalid_input', `${name}: ${reason}`))
      return parse(located.absolute, use.caller)
    },
  }
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

function toReferences(fitted: readonly FittedImage[], paths: readonly Attempt<Located | undefined>[]): ImageReference[] {
  return fitted.map(({ originalType }, at) => {
    const fileName = paths[at]?.value?.name
    return { name: fileName ?? `image-${at + 1}.${originalType.split('/')[1]}`, mediaType: originalType }
  })
}

/** The path of an inline image. */
const noPath = Promise.resolve(undefined)

type Attempt<T> = { value: T; error?: undefined } | { value?: undefined; error: unknown }

/** Settles without a rejection, so that the caller can report the first fault in request order instead of the first in time. */
function attempt<T>(work: Promise<T>): Promise<Attempt<T>> {
  return work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
}

/** The value of an attempt. Throws its fault with `at`, the position of the attachment in the request. */
function valueOf<T>(attempted: Attempt<T>, at: string): T {
  const { value, error } = attempted
  if (error === undefined) return value as T
  if (error instanceof PoolBusy) throw new ServiceError('overloaded', `${at}: ${error.message}`, { cause: error, retryAfter })
  throw refused(at, whyUnreadable(error), error)
}

/** The reason for a failed read. System errors (with a `code`) get a general text, because their messages name paths on disk. */
export function whyUnreadable(error: unknown): string {
  return error instanceof Error && !('code' in error) ? error.message : 'it cannot be read'
}

/** Characters. A caller that mistakes `base64` for `file_path` sends megabytes as a path. */
const maxReason = 300

function refused(at: string, reason: string, cause?: unknown): ServiceError {
  const short = reason.length > maxReason ? `${reason.slice(0, maxReason)} …` : reason.replace(/\.$/, '')
  return new ServiceError('invalid_input', `${at}: ${short}.`, { cause })
}
