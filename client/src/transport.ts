import { AgentCoreError, networkError, parseJson, readError, unreachable } from './error.ts'
import type { CallOptions, Method, PathOf, Reply, RequestArguments } from './operation.ts'

type Source<T> = T | (() => T | Promise<T>)

export interface TransportOptions {
  /** Address of the service, including a path prefix. Default: the origin of the page, in browsers. */
  baseUrl?: string | URL
  /** The access key, or a function that is called for each request. Callers without a key need a cookie of the console. */
  accessKey?: Source<string | undefined>
  /** Headers of each request, or a function of the request's method. */
  headers?:
    | Record<string, string | undefined>
    | ((method: Method) => Record<string, string | undefined> | Promise<Record<string, string | undefined>>)
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch
  /** Whether requests carry cookies, as for `fetch`. */
  credentials?: RequestInit['credentials']
}

/** A reply with status and headers. */
export interface Exchange<T> {
  status: number
  headers: Headers
  body: T
}

/** Sends requests that are typed by the interface of the service. */
export interface Transport {
  /**
   * Sends a request and returns the body of its reply. JSON is parsed; bytes and event streams are returned as the `Response`. Throws
   * `AgentCoreError` for any other status than 2xx, and without a reply.
   */
  request<M extends Method, P extends PathOf<M>>(method: M, path: P, ...options: RequestArguments<M, P>): Promise<Reply<M, P>>
  /** Like `request`, with the status and the headers of the reply. */
  exchange<M extends Method, P extends PathOf<M>>(method: M, path: P, ...options: RequestArguments<M, P>): Promise<Exchange<Reply<M, P>>>
  /** Sends a request and returns the reply unread. Throws `AgentCoreError` as `request` does. */
  send(method: Method, path: string, options?: SendOptions): Promise<Response>
}

/** Parts of a request without the types of its path. */
export interface SendOptions extends CallOptions {
  path?: object | undefined
  query?: object | undefined
  body?: unknown
}

export function createTransport(options: TransportOptions): Transport {
  const { accessKey, headers: ownHeaders, credentials } = options
  const base = toBase(options.baseUrl)

  async function collectHeaders(method: Method, { body, headers }: SendOptions): Promise<Headers> {
    const key = typeof accessKey === 'function' ? await accessKey() : accessKey
    const shared = typeof ownHeaders === 'function' ? await ownHeaders(method) : ownHeaders
    const collected = new Headers()
    if (body !== undefined && !isSentAsIs(body)) collected.set('content-type', 'application/json')
    if (key !== undefined) collected.set('x-service-access', key)
    for (const [name, value] of [...Object.entries(shared ?? {}), ...Object.entries(headers ?? {})])
      if (value !== undefined) collected.set(name, value)
    return collected
  }

  async function send(method: Method, template: string, parts: SendOptions = {}): Promise<Response> {
    const { path, query, body, signal } = parts
    signal?.throwIfAborted()
    const url = base + fillPath(template, path) + toQuery(query)
    const headers = await collectHeaders(method, parts)
    const content = body === undefined || isSentAsIs(body) ? (body as RequestInit['body']) : JSON.stringify(body)
    // `fetch` would send the key to whatever address a redirect names.
    const request: RequestInit & { duplex?: 'half' } = { method, headers, redirect: 'manual' }
    if (content !== undefined) request.body = content
    if (content instanceof ReadableStream) request.duplex = 'half'
    if (signal) request.signal = signal
    if (credentials) request.credentials = credentials
    // The global function is read for each request, because tests and tracers replace the function.
    const call = options.fetch ?? globalThis.fetch
    const response = await call(url, request).catch((cause: unknown) => {
      signal?.throwIfAborted()
      throw unreachable(base === '' ? 'The service' : base, cause)
    })
    if (isRedirect(response)) throw redirected(response)
    if (!response.ok) throw await readError(response)
    return response
  }

  async function exchange(method: Method, path: string, parts?: SendOptions): Promise<Exchange<unknown>> {
    const response = await send(method, path, parts)
    const { status, headers } = response
    return { status, headers, body: await readBody(response, parts?.signal) }
  }

  return {
    send,
    exchange: exchange as Transport['exchange'],
    request: (async (method: Method, path: string, parts?: SendOptions) =>
      (await exchange(method, path, parts)).body) as Transport['request'],
  }
}

/** In browsers a redirect that is not followed has no status. */
function isRedirect({ type, status }: Response): boolean {
  return type === 'opaqueredirect' || (status >= 300 && status < 400)
}

function redirected(response: Response): AgentCoreError {
  const target = response.headers.get('location')
  const place = target === null ? 'another address' : target
  const message = `The service redirects to ${place}. Redirects are not followed: set baseUrl to the address of the service.`
  void response.body?.cancel().catch(() => undefined)
  return new AgentCoreError(message, { status: response.status, errorType: 'InvalidReply' })
}

async function readBody(response: Response, signal: AbortSignal | undefined): Promise<unknown> {
  if (response.status === 204) return undefined
  const type = response.headers.get('content-type') ?? ''
  if (!/^application\/(?:[\w.-]+\+)?json\b/.test(type)) return response
  const text = await response.text().catch((cause: unknown) => {
    signal?.throwIfAborted()
    throw networkError('The connection broke during the reply.', cause)
  })
  const body = parseJson(text)
  if (body !== undefined) return body
  const requestId = response.headers.get('request-id') ?? undefined
  throw new AgentCoreError('The reply is not valid JSON.', { status: response.status, errorType: 'InvalidReply', requestId })
}

/** The base address without a trailing slash. An empty base leaves addresses to the origin of the page. */
function toBase(baseUrl: string | URL = ''): string {
  const text = String(baseUrl)
  let end = text.length
  while (end > 0 && text[end - 1] === '/') end -= 1
  return text.slice(0, end)
}

function fillPath(template: string, parameters: object = {}): string {
  const values = parameters as Record<string, string | number | undefined>
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined || value === '') throw new TypeError(`The path ${template} requires the parameter "${name}".`)
    // Every URL parser removes these segments, also when they are escaped: the address would be that of another route.
    if (value === '.' || value === '..') throw new TypeError(`The parameter "${name}" of the path ${template} cannot be "${value}".`)
    return encodeURIComponent(value)
  })
}

function toQuery(parameters: object = {}): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined || value === null) continue
    for (const element of Array.isArray(value) ? value : [value]) query.append(name, String(element))
  }
  return query.size === 0 ? '' : `?${query.toString()}`
}

function isSentAsIs(body: unknown): boolean {
  return (
    body instanceof FormData ||
    body instanceof Blob ||
    body instanceof ArrayBuffer ||
    body instanceof ReadableStream ||
    ArrayBuffer.isView(body)
  )
}
