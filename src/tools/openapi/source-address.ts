import { hash } from 'node:crypto'
import type { Outbound } from '../builder.ts'
import { readAtMost } from '../web/fetch-address.ts'
import { maxBytes, tooLarge, type Source, type SourceDocument, type SourceOptions } from './source.ts'

const answerMs = 60_000
const accept = 'application/vnd.oai.openapi+json, application/json, application/yaml, */*;q=0.5'
/** Files of a document that are checked in parallel. */
const parallelChecks = 6

/** State of a file at the last read. */
interface FileState {
  /** Headers of a conditional request, answered with 304 while the file is unchanged. */
  conditions: Readonly<Record<string, string>>
  /** Digest of the bytes; undefined when the file could not be read. */
  digest: string | undefined
}

interface FetchedFile {
  bytes: Uint8Array
  /** Final address, after redirects. */
  href: string
  state: FileState
}

/** A document at an address. References may only lead to files on the origin of the document. */
export function openAddress(address: string, outbound: Outbound, headers: SourceOptions['headers']): Source {
  if (!URL.canParse(address)) throw new Error('spec must be an http or https address.')
  return new AddressSource(withoutUser(new URL(address)), outbound, headers)
}

class AddressSource implements Source {
  readonly url: URL
  readonly everyMs = 300_000
  private keptState: { root: FileState; referenced: ReadonlyMap<string, FileState> } | undefined
  private readonly authorization: Record<string, string>
  private readonly outbound: Outbound
  private readonly headers: SourceOptions['headers']

  constructor({ url, authorization }: ReturnType<typeof withoutUser>, outbound: Outbound, headers: SourceOptions['headers']) {
    this.url = url
    this.authorization = authorization
    this.outbound = outbound
    this.headers = headers
  }

  async read(signal: AbortSignal | undefined): Promise<SourceDocument | undefined> {
    const previous = this.keptState
    const response = await this.fetchRoot(signal, previous?.root)
    const isChanged = response !== undefined && response.state.digest !== previous?.root.digest
    if (previous && !isChanged && (await this.areSame(previous.referenced, signal))) return undefined
    const root = response ?? (await this.fetchRoot(signal))
    if (!root) throw new Error(`The OpenAPI document could not be fetched: ${this.url.host} answered 304.`)
    const { origin } = new URL(root.href)
    const referenced = new Map<string, FileState>()
    return {
      bytes: root.bytes,
      href: root.href,
      readReferenced: (href, until) => this.readReferenced(href, { origin, referenced, until }),
      keep: () => (this.keptState = { root: root.state, referenced }),
    }
  }

  private async readReferenced(href: string, { origin, referenced, until }: ReferenceOptions): Promise<Uint8Array> {
    const target = new URL(href)
    if (target.origin !== origin) throw new FileRefused(`is not at ${origin}, where the document is`)
    if (target.username !== '' || target.password !== '') throw new FileRefused('has a user or password in its address')
    try {
      const file = await this.fetchFile(target, { signal: until })
      if (!file) throw new FileRefused('could not be fetched: the server answered 304')
      referenced.set(href, file.state)
      return file.bytes
    } catch (error) {
      until.throwIfAborted()
      referenced.set(href, { conditions: {}, digest: undefined })
      throw error instanceof FileRefused ? error : new FileRefused(`could not be fetched (${reasonOf(error)})`)
    }
  }

  private async fetchRoot(signal: AbortSignal | undefined, state?: FileState): Promise<FetchedFile | undefined> {
    try {
      return await this.fetchFile(this.url, { conditions: state?.conditions, isRoot: true, signal })
    } catch (error) {
      throw toRootFault(error, this.url)
    }
  }

  /** Undefined when the server answers 304, so the file is unchanged. */
  private async fetchFile(target: URL, { conditions = {}, isRoot = false, signal }: FetchOptions): Promise<FetchedFile | undefined> {
    const isConfigured = target.origin === this.url.origin
    // Secrets are sent, and internal addresses allowed, only for the origin configured by the administrator.
    const secretHeaders = isConfigured ? { ...this.authorization, ...this.headers(target) } : {}
    const fetch = isConfigured ? this.outbound.fetchConfigured : this.outbound.fetch
    const until = AbortSignal.any([AbortSignal.timeout(answerMs), ...(signal ? [signal] : [])])
    const headersFor = (next: URL) => {
      if (!isRoot && next.origin !== target.origin) throw new FileRefused('leads to another origin')
      return {}
    }
    const all = { accept, 'user-agent': 'agent-core', ...secretHeaders, ...conditions }
    const response = await fetch(target.href, { headers: all, signal: until, headersFor })
    if (response.status === 304) return undefined
    if (!response.ok) {
      await response.body?.cancel()
      throw new FileRefused(`could not be fetched: the server answered ${response.status}`, response.status)
    }
    const { bytes, isCut } = await readAtMost(response, maxBytes)
    if (isCut) throw isRoot ? tooLarge() : new FileRefused(`is larger than ${maxBytes / 1024 / 1024} MiB`)
    return { bytes, href: response.url, state: { conditions: toConditions(response.headers), digest: hash('sha256', bytes) } }
  }

  private async areSame(referenced: ReadonlyMap<string, FileState>, signal: AbortSignal | undefined): Promise<boolean> {
    const rest = [...referenced]
    const check = async () => {
      for (let next = rest.pop(); next; next = rest.pop()) {
        if (await this.isSame(next, signal)) continue
        rest.length = 0
        return false
      }
      return true
    }
    return (await Promise.all(Array.from({ length: parallelChecks }, check))).every(Boolean)
  }

  private async isSame([href, { conditions, digest }]: [string, FileState], signal: AbortSignal | undefined): Promise<boolean> {
    try {
      const file = await this.fetchFile(new URL(href), { conditions, signal })
      return file === undefined || file.state.digest === digest
    } catch {
      signal?.throwIfAborted()
      // A temporary failure does not remove tools: the file counts as unchanged until the next check.
      return true
    }
  }
}

interface ReferenceOptions {
  /** The origin of the document. */
  origin: string
  /** Collects the states of the files. */
  referenced: Map<string, FileState>
  until: AbortSignal
}

interface FetchOptions {
  conditions?: Readonly<Record<string, string>> | undefined
  isRoot?: boolean
  signal: AbortSignal | undefined
}

/** The reason why a file of a document is not read, as the end of a sentence. */
class FileRefused extends Error {
  readonly status: number | undefined

  constructor(message: string, status?: number) {
    super(message)
    this.status = status
  }
}

function toRootFault(error: unknown, { host }: URL): unknown {
  if (error instanceof FileRefused)
    return error.status === undefined
      ? new Error(`The OpenAPI document ${error.message}.`)
      : new Error(`The OpenAPI document could not be fetched: ${host} answered ${error.status}.`)
  if (error instanceof Error && error.message === tooLarge().message) return error
  return new Error(`The OpenAPI document could not be fetched from ${host} (${reasonOf(error)}).`, { cause: error })
}

function reasonOf(error: unknown): string {
  const cause: NodeJS.ErrnoException | undefined = error instanceof Error && error.cause instanceof Error ? error.cause : undefined
  return cause?.code ?? (error instanceof Error && error.name === 'TimeoutError' ? `nothing in ${answerMs / 1000} s` : 'no connection')
}

function toConditions(headers: { get(name: string): string | null }): Record<string, string> {
  const etag = headers.get('etag')
  const modified = headers.get('last-modified')
  return { ...(etag !== null && { 'if-none-match': etag }), ...(modified !== null && { 'if-modified-since': modified }) }
}

/** Moves user name and password from the address to a header, because `fetch` refuses an address with them. */
export function withoutUser(address: URL): { url: URL; authorization: Record<string, string> } {
  const url = new URL(address)
  const { username, password } = url
  if (username === '' && password === '') return { url, authorization: {} }
  url.username = ''
  url.password = ''
  const user = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')
  return { url, authorization: { authorization: `Basic ${user}` } }
}
