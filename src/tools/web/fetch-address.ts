import type { Response } from 'undici'
import type { Outbound } from '../builder.ts'
import { matchesAnyHost, type HostPattern } from './hosts.ts'

export interface AddressRequest {
  /** As a model named it. */
  url: string
  method?: string
  headers?: Readonly<Record<string, string>>
  body?: string
  /** Absent: every public one. */
  allowedHosts?: readonly HostPattern[] | undefined
  /**
   * Secrets, and what only some hosts may know; they win over `headers`. Asked at each redirect until another origin is on the way: from
   * then on nobody gets any, so that no page can lead a request that is signed to where it wants.
   */
  headersFor?(url: URL): Readonly<Record<string, string>>
  /** Bytes of the body, decompressed; what is behind them is left out. */
  maxBytes: number
  /** Bounds it all, the body included. */
  signal: AbortSignal
}

export interface FetchedResponse {
  /** Where redirects led to. */
  url: string
  status: number
  headers: Response['headers']
  bytes: Uint8Array
  /** There was more. */
  isCut: boolean
}

/** Why something can't be fetched, in words for a model. They tell nothing of the network inside. */
export class FetchRefused extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'FetchRefused'
  }
}

/** Fetches what a model named: from public addresses and allowed hosts alone, at every redirect. */
export async function fetchAddress({ fetch }: Pick<Outbound, 'fetch'>, request: AddressRequest): Promise<FetchedResponse> {
  const { method = 'GET', body, headers, allowedHosts, headersFor, maxBytes, signal } = request
  const url = toAddress(request.url)
  const checkedHeadersFor = (next: URL, hasLeft: boolean) => {
    if (allowedHosts && !matchesAnyHost(allowedHosts, next))
      throw new FetchRefused(`${next.host} is not one of the hosts that may be fetched from.`)
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

function toAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) throw new FetchRefused('url must be an http or https address.')
  url.hash = ''
  return url.href
}

/** The body as far as it is wanted. Decompressed as it is read, so that a small one that unfolds to a huge one is never whole in memory. */
export async function readAtMost(response: Pick<Response, 'body'>, maxBytes: number): Promise<Pick<FetchedResponse, 'bytes' | 'isCut'>> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of response.body ?? []) {
    pieces.push(piece)
    size += piece.byteLength
    // Leaving the loop cancels the body, and with it the connection.
    if (size > maxBytes) break
  }
  return { bytes: Buffer.concat(pieces).subarray(0, maxBytes), isCut: size > maxBytes }
}

/** One sentence for a name that is unknown and for one that means something inside: which names do is nobody's business. */
function toSentence(error: unknown, host: string): string {
  const cause: NodeJS.ErrnoException | undefined = error instanceof Error && error.cause instanceof Error ? error.cause : undefined
  const code = cause?.code
  if (code === 'EREFUSED' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'There is no public host of this name.'
  if (cause?.message === 'too many redirects') return `${host} redirects too often.`
  return `${host} could not be fetched from.`
}
