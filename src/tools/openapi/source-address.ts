import { hash } from 'node:crypto'
import type { Outbound } from '../builder.ts'
import { readAtMost } from '../web/fetch-address.ts'
import { maxBytes, tooLarge, type Source, type SourceDocument, type SourceOptions } from './source.ts'

const answerMs = 60_000
const accept = 'application/vnd.oai.openapi+json, application/json, application/yaml, */*;q=0.5'
/** Files of a document that are looked at again at the same time. */
const atOnce = 6

/** What a file was when it was read last. */
interface FileState {
  /** Headers of a request that is answered 304 while the file is the same. */
  conditions: Readonly<Record<string, string>>
  /** Of its bytes; undefined of a file that could not be read. */
  digest: string | undefined
}

interface FetchedFile {
  bytes: Uint8Array
  /** Where redirects led to. */
  href: string
  state: FileState
}

/** A document that is fetched. Its references lead to files of the origin that it came from. */
export function openAddress(address: string, outbound: Outbound, headers: SourceOptions['headers']): Source {
  if (!URL.canParse(address)) throw new Error('spec is no address.')
  const { url, authorization } = withoutUser(new URL(address))
  let kept: { root: FileState; referenced: ReadonlyMap<string, FileState> } | undefined

  /** Undefined where the answer is that the file is as it was. */
  async function fetchFile(from: URL, { conditions = {}, isRoot = false, signal }: FetchOptions): Promise<FetchedFile | undefined> {
    const isConfigured = from.origin === url.origin
    // Secrets and the way inside are for the origin that the administrator has named.
    const own = isConfigured ? { ...authorization, ...headers(from) } : {}
    const fetch = isConfigured ? outbound.fetchConfigured : outbound.fetch
    const until = AbortSignal.any([AbortSignal.timeout(answerMs), ...(signal ? [signal] : [])])
    const headersFor = (next: URL) => {
      if (!isRoot && next.origin !== from.origin) throw new Refused('leads to another origin')
      return {}
    }
    const all = { accept, 'user-agent': 'agent-core', ...own, ...conditions }
    const response = await fetch(from.href, { headers: all, signal: until, headersFor })
    if (response.status === 304) return undefined
    if (!response.ok) {
      await response.body?.cancel()
      throw new Refused(`was not given: the server answered ${response.status}`, response.status)
    }
    const { bytes, isCut } = await readAtMost(response, maxBytes)
    if (isCut) throw isRoot ? tooLarge() : new Refused(`is larger than ${maxBytes / 1024 / 1024} MiB`)
    return { bytes, href: response.url, state: { conditions: toConditions(response.headers), digest: hash('sha256', bytes) } }
  }

  async function fetchRoot(signal: AbortSignal | undefined, state?: FileState): Promise<FetchedFile | undefined> {
    try {
      return await fetchFile(url, { conditions: state?.conditions, isRoot: true, signal })
    } catch (error) {
      throw toRootFault(error, url)
    }
  }

  async function read(signal: AbortSignal | undefined): Promise<SourceDocument | undefined> {
    const known = kept
    const answer = await fetchRoot(signal, known?.root)
    const isChanged = answer !== undefined && answer.state.digest !== known?.root.digest
    if (known && !isChanged && (await areSame(known.referenced, signal))) return undefined
    const root = answer ?? (await fetchRoot(signal))
    if (!root) throw new Error(`The OpenAPI document was not given by ${url.host}: it answered 304.`)
    const { origin } = new URL(root.href)
    const referenced = new Map<string, FileState>()

    async function readReferenced(href: string, until: AbortSignal): Promise<Uint8Array> {
      const from = new URL(href)
      if (from.origin !== origin) throw new Refused(`is not at ${origin}, where the document is`)
      if (from.username !== '' || from.password !== '') throw new Refused('has a user or password in its address')
      try {
        const file = await fetchFile(from, { signal: until })
        if (!file) throw new Refused('was not given: the server answered 304')
        referenced.set(href, file.state)
        return file.bytes
      } catch (error) {
        until.throwIfAborted()
        referenced.set(href, { conditions: {}, digest: undefined })
        throw error instanceof Refused ? error : new Refused(`could not be fetched (${reasonOf(error)})`)
      }
    }

    const keep = () => (kept = { root: root.state, referenced })
    return { bytes: root.bytes, href: root.href, readReferenced, keep }
  }

  async function areSame(referenced: ReadonlyMap<string, FileState>, signal: AbortSignal | undefined): Promise<boolean> {
    const rest = [...referenced]
    const results = await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (let next = rest.pop(); next; next = rest.pop()) {
          if (await isSame(next, signal)) continue
          rest.length = 0
          return false
        }
        return true
      }),
    )
    return results.every(Boolean)
  }

  async function isSame([href, { conditions, digest }]: [string, FileState], signal: AbortSignal | undefined): Promise<boolean> {
    try {
      const file = await fetchFile(new URL(href), { conditions, signal })
      return file === undefined || file.state.digest === digest
    } catch {
      signal?.throwIfAborted()
      // A file that fails now, and did not then, is no reason to take tools away: the next look decides.
      return true
    }
  }

  return { url, everyMs: 300_000, read }
}

interface FetchOptions {
  conditions?: Readonly<Record<string, string>> | undefined
  isRoot?: boolean
  signal: AbortSignal | undefined
}

/** Why a file of a document is not read, as the end of a sentence. */
class Refused extends Error {
  readonly status: number | undefined

  constructor(message: string, status?: number) {
    super(message)
    this.status = status
  }
}

function toRootFault(error: unknown, { host }: URL): unknown {
  if (error instanceof Refused)
    return error.status === undefined
      ? new Error(`The OpenAPI document ${error.message}.`)
      : new Error(`The OpenAPI document was not given by ${host}: it answered ${error.status}.`)
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

/** `fetch` takes no user in an address: it is sent as a header. */
export function withoutUser(address: URL): { url: URL; authorization: Record<string, string> } {
  const url = new URL(address)
  const { username, password } = url
  if (username === '' && password === '') return { url, authorization: {} }
  url.username = ''
  url.password = ''
  const user = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')
  return { url, authorization: { authorization: `Basic ${user}` } }
}
