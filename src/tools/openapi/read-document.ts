import { messageOf } from '../../errors.ts'
import { askOnce, parserLimits } from '../../processes/question-pool.ts'
import type { Api, ApiReadOptions } from './api.ts'
import type { SourceDocument } from './source.ts'

export interface ReadQuestion {
  bytes: Uint8Array
  /** Absolute name of the document; references are relative to this name. */
  href: string
  options: ApiReadOptions
}

/** `api` is JSON: parsing JSON is twice as fast as the structured clone between processes. */
export type ReadAnswer = { api: Uint8Array } | { error: string }

/** A file that the document refers to; `fault` ends the sentence "X, which ...". */
export type FileAnswer = { href: string; bytes: Uint8Array } | { href: string; fault: string }

/** Limits of the child process, ten times the needs of the largest known document. `structure` includes the names of requested files. */
const worker = {
  module: new URL('./worker', import.meta.url),
  limits: parserLimits(1024),
  messages: { structure: 16 * 1024 * 1024, bytes: 128 * 1024 * 1024 },
}
const limitMs = 60_000

/** Limits for referenced files: twice the count, and ten times the bytes, of the largest known document. */
const fileLimits = { count: 5000, bytes: 64 * 1024 * 1024, ms: 120_000, atOnce: 8 }

/** Reads a document in a child process: large documents take seconds, malicious ones longer. Throws an `Error` with the reason. */
export async function readDocument(document: SourceDocument, options: ApiReadOptions, signal?: AbortSignal): Promise<Api> {
  const files = createFileReader(document, signal)
  const { bytes, href } = document
  const question: ReadQuestion = { bytes, href, options }
  const answer = await askOnce<ReadAnswer>(worker, question, { limitMs, signal, serve: files.read })
  if ('error' in answer) throw new Error(answer.error)
  return JSON.parse(Buffer.from(answer.api).toString()) as Api
}

/** Reads files for the child process, which is not trusted to access files or the network itself. */
function createFileReader({ readReferenced }: Pick<SourceDocument, 'readReferenced'>, signal: AbortSignal | undefined) {
  let count = 0
  let bytes = 0
  let ms = 0

  async function readFile(href: string, until: AbortSignal): Promise<FileAnswer> {
    if (++count > fileLimits.count) throw new Error(`it refers to more than ${fileLimits.count} other files`)
    try {
      const content = await readReferenced(href, until)
      bytes += content.length
      if (bytes <= fileLimits.bytes) return { href, bytes: content }
    } catch (error) {
      until.throwIfAborted()
      return { href, fault: messageOf(error) }
    }
    throw new Error(`its files are larger than ${fileLimits.bytes / 1024 / 1024} MiB together`)
  }

  async function readAll(hrefs: readonly string[], until: AbortSignal): Promise<FileAnswer[]> {
    const rest = [...hrefs]
    const answers: FileAnswer[] = []
    const work = async () => {
      for (let href = rest.pop(); href !== undefined; href = rest.pop()) answers.push(await readFile(href, until))
    }
    await Promise.all(Array.from({ length: fileLimits.atOnce }, work))
    return answers
  }

  async function read(request: unknown): Promise<FileAnswer[]> {
    const started = performance.now()
    const timeout = AbortSignal.timeout(Math.max(1, Math.ceil(fileLimits.ms - ms)))
    try {
      return await readAll(request as string[], AbortSignal.any([timeout, ...(signal ? [signal] : [])]))
    } catch (error) {
      if (timeout.aborted) throw new Error(`its files could not be read within ${fileLimits.ms / 1000} s`, { cause: error })
      throw error
    } finally {
      ms += performance.now() - started
    }
  }

  return { read }
}
