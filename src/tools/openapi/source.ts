import { readFile, realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import { resolveReferences, type Environment } from '../../configuration/references.ts'
import type { Outbound } from '../builder.ts'
import { readAtMost } from '../web/fetch-address.ts'

/** Where a document comes from. */
export interface Source {
  /** Of a document that was fetched. */
  url?: URL
  /** Milliseconds until it is worth looking again. */
  everyMs: number
  /** Undefined where it is as it was when it was last kept. Throws with a reason in words for an operator. */
  read(signal: AbortSignal | undefined): Promise<FoundDocument | undefined>
}

export interface FoundDocument {
  bytes: Uint8Array
  /** It could be used: it need not be read again while it is the same. */
  keep(): void
}

/** Four times the largest that is known to be in use. */
const maxBytes = 32 * 1024 * 1024
const answerMs = 60_000

export interface SourceOptions {
  /** As configured: a path relative to `folder`, or an address. */
  spec: string
  folder: string
  environment: Environment
  outbound: Outbound
  /** What is sent to an address. */
  headers(url: URL): Readonly<Record<string, string>>
}

export function openSource({ spec, folder, environment, outbound, headers }: SourceOptions): Source {
  const resolved = /^https?:\/\/|^\$\{/.test(spec) ? resolveReferences(spec, environment) : spec
  if (/^https?:\/\//i.test(resolved)) return openAddress(resolved, outbound, headers)
  return openFile(resolved, folder)
}

function openAddress(address: string, outbound: Outbound, headers: SourceOptions['headers']): Source {
  if (!URL.canParse(address)) throw new Error('spec is no address.')
  const { url, authorization } = withoutUser(new URL(address))
  let known: Record<string, string> = {}

  async function read(signal: AbortSignal | undefined): Promise<FoundDocument | undefined> {
    const until = AbortSignal.any([AbortSignal.timeout(answerMs), ...(signal ? [signal] : [])])
    const accept = 'application/vnd.oai.openapi+json, application/json, application/yaml, */*;q=0.5'
    const all = { accept, 'user-agent': 'agent-core', ...authorization, ...headers(url), ...known }
    const response = await fetchDocument(() => outbound.fetchConfigured(url.href, { headers: all, signal: until }), url)
    if (response.status === 304) return undefined
    if (!response.ok) {
      await response.body?.cancel()
      throw new Error(`The OpenAPI document was not given by ${url.host}: it answered ${response.status}.`)
    }
    const { bytes, isCut } = await fetchDocument(() => readAtMost(response, maxBytes), url)
    if (isCut) throw tooLarge()
    const conditions = toConditions(response.headers)
    return { bytes, keep: () => (known = conditions) }
  }

  return { url, everyMs: 300_000, read }
}

async function fetchDocument<T>(work: () => Promise<T>, url: URL): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const cause: NodeJS.ErrnoException | undefined = error instanceof Error && error.cause instanceof Error ? error.cause : undefined
    const why =
      cause?.code ?? (error instanceof Error && error.name === 'TimeoutError' ? `nothing in ${answerMs / 1000} s` : 'no connection')
    throw new Error(`The OpenAPI document could not be fetched from ${url.host} (${why}).`, { cause: error })
  }
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

function openFile(name: string, folder: string): Source {
  let known: string | undefined

  async function read(): Promise<FoundDocument | undefined> {
    const root = await realpath(folder)
    const file = await realpath(path.resolve(root, name)).catch(() => undefined)
    if (file === undefined) throw new Error(`spec: ${name} does not exist beside agent.yaml.`)
    // The link's target counts, not its name.
    if (!file.startsWith(root + path.sep)) throw new Error(`spec: ${name} is outside of the folder of agent.yaml.`)
    const { size, mtimeMs, ino } = await stat(file)
    if (size > maxBytes) throw tooLarge()
    const state = `${file} ${ino} ${mtimeMs} ${size}`
    if (state === known) return undefined
    return { bytes: await readFile(file), keep: () => (known = state) }
  }

  return { everyMs: 10_000, read }
}

function tooLarge(): Error {
  return new Error(`The OpenAPI document is larger than ${maxBytes / 1024 / 1024} MiB.`)
}
