import { open, stat } from 'node:fs/promises'
import type { Owner } from '../../access/owner.ts'
import type { DocumentCache } from '../../files/document-text.ts'
import type { Document } from '../../files/document.ts'
import { mediaHeadBytes, mediaKindOf, mediaTypeOfBytes } from '../../files/media.ts'
import { type FairPool, PoolBusy } from '../../processes/fair-pool.ts'
import {
  isRead,
  maxMediaBytes,
  toCheckedFile,
  tooMuchMedia,
  whyUnread,
  type CheckedFile,
  textOrScan,
  toSentDocument,
} from './question-files.ts'
import { type FileUse } from './sent-files.ts'
import { ServiceError } from '../../errors.ts'

/** Checks of the context files of a chat, which lie under the files root. */

/** Limit for all context files of one chat together. */
const maxContextBytes = 100_000_000
const maxReadMs = 60_000

export interface Located {
  /** Normalised path, relative to the files root. */
  name: string
  absolute: string
  /** Path relative to the files root after symbolic links are resolved. */
  canonical: string
}

interface ContextReader {
  /**
   * Reads each distinct file once, so that an unreadable file is refused before the run is stored. Resolves to the names of all files, and to
   * the files that the model reads itself. `paths` has no path for an upload.
   */
  check(paths: readonly Attempt<Located | undefined>[], use: FileUse): Promise<{ contextFiles: string[]; files: CheckedFile[] }>
  /** The text of a file. */
  parse(absolute: string, caller: Owner, deadline?: AbortSignal): Promise<Document>
}

export function createContextReader({ documents, parsing }: { documents: DocumentCache; parsing: FairPool }): ContextReader {
  async function check(paths: readonly Attempt<Located | undefined>[], use: FileUse) {
    const located = paths.flatMap((file, at) => {
      const path = valueOf(file, `context_files[${at}]`)
      return path ? [{ ...path, at }] : []
    })
    const unique = [...new Map(located.map((file) => [file.absolute, file] as const)).values()]
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
    const labels = unique.map(({ name, at }) => `context_files[${at}]: ${name}`)
    const readings = await Promise.all(unique.map((file, index) => attempt(readContext(file, labels[index]!, use, deadline))))
    const files = readings.flatMap((reading, index) => valueOf(reading, labels[index]!) ?? [])
    return { contextFiles: unique.map(({ name }) => name), files }
  }

  /** Reads a context file. Resolves to the file where the model reads such files itself. */
  async function readContext(
    { name, absolute }: Located,
    label: string,
    { agent: { model }, caller }: FileUse,
    deadline: AbortSignal,
  ): Promise<CheckedFile | undefined> {
    const mediaType = await parsing.use({ caller }, () => mediaTypeOfFile(absolute))
    const isDocument = mediaType === undefined || mediaKindOf(mediaType) === 'document'
    if (!isDocument && !isRead(model, mediaType)) throw new Error(whyUnread(model, mediaType))
    const reading = isDocument ? parse(absolute, caller, deadline) : undefined
    if (mediaType === undefined || !isRead(model, mediaType)) {
      await reading
      return undefined
    }
    const { document, pages } = reading ? await textOrScan(reading) : {}
    const bytes = await readBounded(absolute)
    // A document that is too large for the model goes as text.
    if (!bytes && document) return undefined
    if (!bytes) throw new Error(tooMuchMedia)
    return toCheckedFile({
      name,
      mediaType,
      bytes,
      label,
      isContextFile: true,
      document: document && toSentDocument(name, document),
      pages,
    })
  }

  function parse(absolute: string, caller: Owner, deadline?: AbortSignal): Promise<Document> {
    return parsing.use({ caller }, async () => {
      if (deadline?.aborted) throw new Error(`Reading the context files took longer than ${maxReadMs / 1000} s.`)
      return documents.read(absolute, caller)
    })
  }

  return { check, parse }
}

/** The type of a document, audio or video by its first bytes; undefined for other files. */
async function mediaTypeOfFile(absolute: string): Promise<string | undefined> {
  await using file = await open(absolute, 'r')
  const { buffer, bytesRead } = await file.read(Buffer.alloc(mediaHeadBytes), 0, mediaHeadBytes, 0)
  return mediaTypeOfBytes(buffer.subarray(0, bytesRead))
}

/** The bytes of a file; undefined for a file that no question may have. */
async function readBounded(absolute: string): Promise<Buffer | undefined> {
  await using file = await open(absolute, 'r')
  return (await file.stat()).size > maxMediaBytes ? undefined : file.readFile()
}

/** Reads of several attachments at the same time, whose faults are reported in the order of the request. */

export type Attempt<T> = { value: T; error?: undefined } | { value?: undefined; error: unknown }

/** Seconds. */
const retryAfter = 2

/** Settles without a rejection, so that the caller can report the first fault in request order instead of the first in time. */
export function attempt<T>(work: Promise<T>): Promise<Attempt<T>> {
  return work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
}

/** The value of an attempt. Throws its fault with `at`, the position of the attachment in the request. */
export function valueOf<T>(attempted: Attempt<T>, at: string): T {
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

export function refused(at: string, reason: string, cause?: unknown): ServiceError {
  const short = reason.length > maxReason ? `${reason.slice(0, maxReason)} …` : reason.replace(/\.$/, '')
  return new ServiceError('invalid_input', `${at}: ${short}.`, { cause })
}
