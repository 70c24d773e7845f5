import { setTimeout as wait } from 'node:timers/promises'
import type { JsonObject } from '../../agent/messages.ts'
import type { ToolContext } from '../../agent/tool.ts'
import type { Outbound } from '../builder.ts'
import { maxBodyBytes, toResponseOutput, decodeText, isText } from '../web/body-output.ts'
import { readAtMost, type FetchedResponse } from '../web/fetch-address.ts'
import { toContextHeaders, toTraceHeaders, createMask } from '../web/request-headers.ts'
import type { Api, Operation } from './api.ts'
import { sign, type CredentialOptions } from './credentials.ts'
import { toRequest, type Request } from './request.ts'

interface OperationCallOptions extends CredentialOptions {
  outbound: Outbound
  operation: Operation
  schemes: Api['schemes']
  base: URL
  /** True for a base configured by an administrator, or on the origin of the document: credentials and internal addresses are allowed. */
  isTrusted: boolean
  maxCharacters: number
}

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
/** Maximum characters of an error response in an error message. */
const maxFaultCharacters = 2000
const maxRepeats = 2
const firstDelayMs = 250
/** Limit for `retry-after`. After a longer time the call is not repeated, and the error tells the model when to retry. */
const maxDelayMs = 5000

/** Calls an operation. Throws a sentence for the model when the call fails or the status is not 2xx. */
export async function call(options: OperationCallOptions, input: JsonObject, context: ToolContext): Promise<JsonObject> {
  const { operation, maxCharacters } = options
  const started = performance.now()
  const { answer: response, secrets } = await sendAuthenticated(options, input, context)
  const mask = createMask(secrets)
  context.log(`${operation.method} ${operation.path}: ${response.status} in ${Math.round(performance.now() - started)} ms`)
  if (response.status < 200 || response.status > 299) throw new Error(mask(toFault(operation, response)))
  return toResponseOutput(response, { context, maxCharacters, mask })
}

/** Sends the request with credentials. After 401, a new token is tried once, because a token may have been revoked; a request refused with 401 has had no effect. */
async function sendAuthenticated(options: OperationCallOptions, input: JsonObject, context: ToolContext) {
  for (let isSecond = false; ; isSecond = true) {
    const request = toRequest(options.operation, options.base, input)
    if (!safeMethods.has(request.method)) request.headers['idempotency-key'] = context.callId
    if (options.isTrusted) Object.assign(request.headers, toTraceHeaders(context), toContextHeaders(context.headers))
    const signed = options.isTrusted ? await sign(request, options, options, context.signal) : undefined
    if (request.cookies.length > 0) request.headers['cookie'] = request.cookies.join('; ')
    const response = await sendWithRetries(request, options, context)
    if (URL.parse(response.url)?.origin !== request.url.origin) context.reportHost?.(new URL(response.url).host)
    if (response.status === 401 && !isSecond && signed?.renew()) continue
    return { answer: response, secrets: signed?.secrets ?? [] }
  }
}

/** Sends the request, and repeats a request with a safe method when the server was busy or unreachable. */
async function sendWithRetries(request: Request, options: OperationCallOptions, { signal, log }: ToolContext): Promise<FetchedResponse> {
  for (let repeats = 0; ; repeats++) {
    const outcome = await send(request, options, signal)
    const delay = safeMethods.has(request.method) && repeats < maxRepeats ? delayMs(outcome, repeats) : undefined
    if (delay === undefined) {
      if (outcome instanceof Error) throw outcome
      return outcome
    }
    log(`${outcome instanceof Error ? outcome.message : `The API answered ${outcome.status}.`} Retrying in ${Math.round(delay)} ms.`)
    await wait(delay, undefined, { signal })
  }
}

class UnreachableApi extends Error {
  readonly isTransient: boolean

  constructor(message: string, mayPass: boolean, options: ErrorOptions) {
    super(message, options)
    this.isTransient = mayPass
  }
}

async function send(
  request: Request,
  { outbound, isTrusted }: OperationCallOptions,
  signal: AbortSignal,
): Promise<FetchedResponse | UnreachableApi> {
  const { url, method, headers, body } = request
  const fetch = isTrusted ? outbound.fetchConfigured : outbound.fetch
  try {
    const response = await fetch(url.href, { method, headers, signal, ...(body !== undefined && { body }) })
    return { url: response.url, status: response.status, headers: response.headers, ...(await readAtMost(response, maxBodyBytes)) }
  } catch (cause) {
    signal.throwIfAborted()
    return toUnreachable(cause, isTrusted)
  }
}

const transientCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** The error code is shown only for trusted addresses: for others, the code would reveal facts about the internal network. */
function toUnreachable(error: unknown, isTrusted: boolean): UnreachableApi {
  const cause: NodeJS.ErrnoException | undefined = error instanceof Error && error.cause instanceof Error ? error.cause : undefined
  const { code } = cause ?? {}
  if (code === 'EREFUSED')
    return new UnreachableApi('The API is at, or redirects to, an address that is not public and not configured.', false, { cause: error })
  const codeText = isTrusted && code !== undefined ? ` (${code})` : ''
  return new UnreachableApi(`The API could not be reached${codeText}.`, code !== undefined && transientCodes.has(code), { cause: error })
}

/** Milliseconds before the next attempt; undefined when a retry is useless. */
function delayMs(outcome: FetchedResponse | UnreachableApi, repeats: number): number | undefined {
  const backoffMs = firstDelayMs * 2 ** repeats * (1 + Math.random())
  if (outcome instanceof UnreachableApi) return outcome.isTransient ? backoffMs : undefined
  if (outcome.status !== 429 && outcome.status !== 503) return undefined
  const retryAfter = retryAfterMs(outcome.headers.get('retry-after'))
  return retryAfter === undefined ? backoffMs : retryAfter <= maxDelayMs ? retryAfter : undefined
}

/** Parses seconds or a date (RFC 9110, 10.2.3). */
function retryAfterMs(value: string | null): number | undefined {
  if (value === null || value.trim() === '') return undefined
  const ms = /^\d+$/.test(value.trim()) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

function toFault({ method, path }: Operation, { status, headers, bytes }: FetchedResponse): string {
  const retryAfter = headers.get('retry-after')
  const wait = retryAfter === null ? '' : ` It may be retried after ${retryAfter}${/^\d+$/.test(retryAfter) ? ' s' : ''}.`
  const type = headers.get('content-type')
  const text = isText(bytes, type) ? decodeText(bytes, type).trim() : ''
  const excerpt = text.length > maxFaultCharacters ? `${text.slice(0, maxFaultCharacters).toWellFormed()} [cut]` : text
  return `${method} ${path} answered ${status}.${wait}${excerpt === '' ? '' : `\n${excerpt}`}`
}
