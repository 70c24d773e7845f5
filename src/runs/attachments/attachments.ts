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

/** What a chat brings beside its text, as its caller gave it. */
export interface GivenAttachments {
  images: readonly { content: string; type: 'base64' | 'file_path' }[]
  /** Paths under the files root. */
  contextFiles: readonly string[]
}

/** The same, checked. `pictures` are the bytes of `images`. */
export interface CheckedAttachments {
  images: ImageReference[]
  pictures: Image[]
  contextFiles: string[]
}

/** By whom, and under which filters, it is to be used. */
interface Use {
  caller: Owner
  agent: Agent
  filters: readonly DataFilter[]
}

export interface Attachments {
  /**
   * Refuses what the run could not use, by its place: `validation` where a data filter withholds it, `invalid_input` else. `at` is where
   * the chat stands in its request.
   */
  check(given: GivenAttachments, use: Use, at: Fault['loc']): Promise<CheckedAttachments>
  /** A checked context file as it is now. Throws as `check`, without its place. */
  read(name: string, use: Use): Promise<Document>
}

const maxImages = 5
/** Of all context files of a chat. */
const maxContextBytes = 100_000_000
const maxReadMs = 60_000
/** Files that are read at the same time. */
const maxParsed = 4
/** Of one caller: a file that waits is no more than a path. */
const maxWaiting = 1000
/** Seconds. */
const retryAfter = 2

interface Located {
  /** In its one spelling, relative to the files root. */
  name: string
  absolute: string
  /** Its name once links are resolved. */
  canonical: string
}

export interface AttachmentDependencies {
  files: FilesRoot
  documents: DocumentCache
  images: Images
}

export function createAttachments({ files, documents, images }: AttachmentDependencies): Attachments {
  const parsing = createFairPool({ slots: maxParsed, maxWaiting })

  async function locate(given: string): Promise<Located> {
    const name = files.normalise(given)
    const absolute = isHidden(name) ? undefined : await files.resolve(name)
    const canonical = absolute && path.relative(files.path, absolute).split(path.sep).join('/')
    // As for file tools: what is hidden is not there.
    if (!absolute || !canonical || isHidden(canonical)) throw new PathError(`${given} does not exist.`)
    return { name, absolute, canonical }
  }

  async function check(given: GivenAttachments, use: Use, at: Fault['loc']): Promise<CheckedAttachments> {
    const contextPaths = await Promise.all(given.contextFiles.map((name) => attempt(locate(name))))
    const inReach = given.images.slice(0, maxImages)
    const imagePaths = await Promise.all(inReach.map((image) => attempt(image.type === 'file_path' ? locate(image.content) : nowhere)))
    // What is wrong with the request itself is told before what is in its files.
    for (const [field, found] of [
      ['context_files', contextPaths],
      ['images', imagePaths],
    ] as const) {
      for (const [n, one] of found.entries()) {
        if (one.value) refuseWithheld(one.value, use, (why) => invalid([...at, field, n], why))
      }
    }
    if (given.images.length > maxImages) throw refused('images', `${given.images.length} were sent, at most ${maxImages} are taken`)
    const { seesImages, name } = use.agent.model
    if (given.images.length > 0 && !seesImages) throw refused('images', `The model ${name} can't see images`)
    const contextFiles = await checkContext(contextPaths, use.caller)
    const fitted = await checkImages(given, imagePaths, use.caller)
    return { contextFiles, pictures: fitted.map(({ mediaType, data }) => ({ mediaType, data })), images: toReferences(fitted, imagePaths) }
  }

  /** Each is read once: what a model can't be shown is refused now. */
  async function checkContext(paths: readonly Attempt<Located>[], caller: Owner): Promise<string[]> {
    const located = paths.map((one, at) => valueOf(one, `context_files[${at}]`))
    const unique = [...new Map(located.map((one, at) => [one.absolute, { ...one, at }] as const)).values()]
    const sizes = await Promise.all(
      unique.map(({ absolute }) =>
        stat(absolute).then(
          ({ size }) => size,
          () => 0,
        ),
      ),
    )
    const total = sizes.reduce((sum, size) => sum + size, 0)
    if (total > maxContextBytes) throw refused('context_files', `they have ${total} bytes together, at most ${maxContextBytes} are read`)
    const late = AbortSignal.timeout(maxReadMs)
    const read = await Promise.all(unique.map(({ absolute }) => attempt(parse(absolute, caller, late))))
    for (const [index, one] of read.entries()) valueOf(one, `context_files[${unique[index]!.at}]: ${unique[index]!.name}`)
    return unique.map(({ name }) => name)
  }

  async function checkImages(
    given: GivenAttachments,
    paths: readonly Attempt<Located | undefined>[],
    caller: Owner,
  ): Promise<FittedImage[]> {
    const located = paths.map((one, at) => valueOf(one, `images[${at}]`))
    const read = await Promise.all(
      given.images.map(({ content }, at) =>
        attempt(located[at] ? images.fromFile(located[at].absolute, caller) : images.fromText(content, caller)),
      ),
    )
    return read.map((one, at) => valueOf(one, `images[${at}]${located[at] ? `: ${located[at].name}` : ''}`))
  }

  function parse(absolute: string, caller: Owner, late?: AbortSignal): Promise<Document> {
    return parsing.use({ caller }, async () => {
      if (late?.aborted) throw new Error(`The context files together take longer than ${maxReadMs / 1000} s to read.`)
      return documents.read(absolute, caller)
    })
  }

  return {
    check,
    async read(given, use) {
      const located = await locate(given)
      refuseWithheld(located, use, (why) => new ServiceError('invalid_input', `${given}: ${why}`))
      return parse(located.absolute, use.caller)
    },
  }
}

/** The files behind a tool that a data filter is on can be read through that tool alone. */
function refuseWithheld({ name, canonical }: Located, { agent, filters }: Use, toError: (why: string) => ServiceError): void {
  if (filters.length === 0) return
  const hinted = new Set(filters.map((filter) => filter.tool))
  const by = agent.tools.list().find((one) => hinted.has(one.name) && (one.tool?.readsFile?.(name) || one.tool?.readsFile?.(canonical)))
  if (by) throw toError(`${name} belongs to the tool ${by.name}, which a data filter is on`)
}

function toReferences(fitted: readonly FittedImage[], paths: readonly Attempt<Located | undefined>[]): ImageReference[] {
  return fitted.map(({ originalType }, at) => {
    const named = paths[at]?.value?.name
    return { name: named ?? `image-${at + 1}.${originalType.split('/')[1]}`, mediaType: originalType }
  })
}

/** Of an image that is no file. */
const nowhere = Promise.resolve(undefined)

type Attempt<T> = { value: T; error?: undefined } | { value?: undefined; error: unknown }

/** Waits for all, so that the first fault in the order given is the one that is told. */
function attempt<T>(work: Promise<T>): Promise<Attempt<T>> {
  return work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
}

/** `at` is where the caller named it. */
function valueOf<T>(one: Attempt<T>, at: string): T {
  if (one.error === undefined) return one.value as T
  if (one.error instanceof PoolBusy) throw new ServiceError('overloaded', `${at}: ${one.error.message}`, { cause: one.error, retryAfter })
  throw refused(at, whyUnreadable(one.error), one.error)
}

/** A message of the system names a path on disk. */
export function whyUnreadable(error: unknown): string {
  return error instanceof Error && !('code' in error) ? error.message : 'it can not be read'
}

const maxWhy = 300

function refused(at: string, why: string, cause?: unknown): ServiceError {
  // Who mistakes the type sends megabytes as a path.
  const short = why.length > maxWhy ? `${why.slice(0, maxWhy)} …` : why.replace(/\.$/, '')
  return new ServiceError('invalid_input', `${at}: ${short}.`, { cause })
}
