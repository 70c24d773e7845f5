import type { Response } from 'undici'
import { messageOf } from '../../errors.ts'
import type { Outbound } from '../builder.ts'

export interface AddressRequest {
  /** The address as written by the model. */
  url: string
  method?: string
  headers?: Readonly<Record<string, string>>
  body?: string
  /** Absent: every public host is allowed. */
  allowedHosts?: readonly HostPattern[] | undefined
  /**
   * Headers for one address, such as secrets; these headers win over `headers`. Called for each redirect until a redirect leads to
   * another origin. From then on no address gets such headers, so that a page cannot redirect an authenticated request.
   */
  headersFor?(url: URL): Readonly<Record<string, string>>
  /** Throws for an address that the call must not reach, at every redirect. */
  assertReachable?: ((url: URL) => void) | undefined
  /** Maximum bytes of the decompressed body; the rest is cut off. */
  maxBytes: number
  /** Aborts the request and the reading of the body. */
  signal: AbortSignal
}

export interface FetchedResponse {
  /** The final address, after redirects. */
  url: string
  status: number
  headers: Response['headers']
  bytes: Uint8Array
  /** The body was longer than `maxBytes`. */
  isCut: boolean
}

/** The reason why an address cannot be fetched, for a model. The message reveals nothing about the internal network. */
export class FetchRefused extends Error {
  override readonly name = 'FetchRefused'
}

/** Fetches an address named by a model. Only public addresses and allowed hosts are fetched, at every redirect. Throws `FetchRefused`. */
export async function fetchAddress({ fetch }: Pick<Outbound, 'fetch'>, request: AddressRequest): Promise<FetchedResponse> {
  const { method = 'GET', body, headers, allowedHosts, headersFor, maxBytes, signal, assertReachable } = request
  const url = toAddress(request.url)
  const checkedHeadersFor = (next: URL, hasLeft: boolean) => {
    if (allowedHosts && !matchesAnyHost(allowedHosts, next))
      throw new FetchRefused(`${next.host} is not one of the hosts that may be fetched from.`)
    assertAllowed(next, assertReachable)
    if (next.username !== '' || next.password !== '') throw new FetchRefused('An address with a user or password in it is not fetched.')
    return hasLeft ? {} : (headersFor?.(next) ?? {})
  }
  try {
    const init = {
      method,
      headers: { 'user-agent': 'agent-core', ...headers },
      ...(body !== undefined && { body }),
      headersFor: checkedHeadersFor,
      signal,
    }
    const response = await fetch(url, init)
    return { url: response.url, status: response.status, headers: response.headers, ...(await readAtMost(response, maxBytes)) }
  } catch (error) {
    signal.throwIfAborted()
    throw error instanceof FetchRefused ? error : new FetchRefused(toSentence(error, new URL(url).host), { cause: error })
  }
}

function assertAllowed(url: URL, assertReachable: AddressRequest['assertReachable']): void {
  try {
    assertReachable?.(url)
  } catch (error) {
    throw new FetchRefused(messageOf(error), { cause: error })
  }
}

function toAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) throw new FetchRefused('url must be an http or https address.')
  url.hash = ''
  return url.href
}

/** Reads at most `maxBytes` of the body, decompressed as a stream, so that a decompression bomb is never whole in memory. */
export async function readAtMost(response: Pick<Response, 'body'>, maxBytes: number): Promise<Pick<FetchedResponse, 'bytes' | 'isCut'>> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of response.body ?? []) {
    pieces.push(piece)
    size += piece.byteLength
    // Leaving the loop cancels the body and closes the connection.
    if (size > maxBytes) break
  }
  return { bytes: Buffer.concat(pieces).subarray(0, maxBytes), isCut: size > maxBytes }
}

/** Unknown hosts and internal hosts get the same sentence, so that the message does not reveal which internal names exist. */
function toSentence(error: unknown, host: string): string {
  const cause: NodeJS.ErrnoException | undefined = error instanceof Error && error.cause instanceof Error ? error.cause : undefined
  const code = cause?.code
  if (code === 'EREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'There is no public host of this name.'
  if (cause?.message === 'too many redirects') return `${host} redirects too often.`
  return `${host} could not be fetched from.`
}

/** Host patterns of a configuration: `example.com`, `*.example.com` (any subdomain), `example.com:8443`, `[2001:db8::1]`. */

export interface HostPattern {
  /** Normalised by `URL`; for `*.example.com` the part after the star. */
  readonly host: string
  readonly isSuffix: boolean
  /** Absent: the pattern has no port. */
  readonly port?: number
}

export function parseHost(text: string): HostPattern {
  const [, star, name = '', port] = /^(\*\.)?(.*?)(?::(\d+))?$/.exec(text) ?? []
  const host = URL.canParse(`http://${name}/`) ? new URL(`http://${name}/`).hostname : name.toLowerCase()
  return { host: withoutDot(host), isSuffix: star !== undefined, ...(port !== undefined && { port: Number(port) }) }
}

/** True when an address matches one of the patterns; a pattern without a port matches every port. */
export function matchesAnyHost(patterns: readonly HostPattern[], url: URL): boolean {
  return patterns.some((pattern) => fitsName(pattern, url) && (pattern.port === undefined || pattern.port === portOf(url)))
}

/**
 * True when secrets may be sent to an address. A pattern without a port matches only https on port 443: otherwise the author of the
 * address could have a secret sent in clear text, or to another server on the same machine.
 */
export function maySendSecrets(pattern: HostPattern, url: URL): boolean {
  if (!fitsName(pattern, url)) return false
  const { port = 443 } = pattern
  return port === portOf(url) && (url.protocol === 'https:' || port !== 443)
}

function fitsName({ host, isSuffix }: HostPattern, url: URL): boolean {
  const name = withoutDot(url.hostname)
  return isSuffix ? name.endsWith(`.${host}`) : name === host
}

function withoutDot(host: string): string {
  return host.replace(/\.$/, '')
}

function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
}
