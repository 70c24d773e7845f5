import { setTimeout as wait } from 'node:timers/promises'
import type { JsonObject } from '../../agent/messages.ts'
import type { ToolContext } from '../../agent/tool.ts'
import type { Outbound } from '../builder.ts'
import { maxBodyBytes, toResponseOutput } from '../web/body-output.ts'
import { decodeText, isText } from '../web/decode-text.ts'
import { readAtMost, type FetchedResponse } from '../web/fetch-address.ts'
import { toContextHeaders, toTraceHeaders } from '../web/request-headers.ts'
import { createMask } from '../web/secrets.ts'
import type { Api, Operation } from './api.ts'
import { sign, type CredentialOptions } from './credentials.ts'
import { toRequest, type Request } from './request.ts'

export interface CallOptions extends CredentialOptions {
  outbound: Outbound
  /** Of one operation. */
  operation: Operation
  schemes: Api['schemes']
  base: URL
  /** The base is the administrator's word, or the origin of the document: it may have credentials, and be inside. */
  isTrusted: boolean
  maxCharacters: number
}

const safe: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
/** Characters of an answer that says what was wrong. */
const maxFault = 2000
const maxRepeats = 2
const firstDelayMs = 250
/** Who is told to wait longer tells the model so. */
const maxDelayMs = 5000

/** Makes the call. Throws with a sentence for the model where it fails, or where the answer's status is not 2xx. */
export async function call(options: CallOptions, input: JsonObject, context: ToolContext): Promise<JsonObject> {
  const { operation, maxCharacters } = options
  const started = performance.now()
  const { answer, secrets } = await askWithTokens(options, input, context)
  const mask = createMask(secrets)
  context.log(`${operation.method} ${operation.path}: ${answer.status} in ${Math.round(performance.now() - started)} ms`)
  if (answer.status < 200 || answer.status > 299) throw new Error(mask(toFault(operation, answer)))
  return toResponseOutput(answer, { context, maxCharacters, mask })
}

/** A token may have been revoked since: then with another, once. A request that was refused with 401 was not acted on. */
async function askWithTokens(options: CallOptions, input: JsonObject, context: ToolContext) {
  for (let isSecond = false; ; isSecond = true) {
    const request = toRequest(options.operation, options.base, input)
    if (!safe.has(request.method)) request.headers['idempotency-key'] = context.callId
    if (options.isTrusted) Object.assign(request.headers, toTraceHeaders(context), toContextHeaders(context.headers))
    const signed = options.isTrusted ? await sign(request, options, options, context.signal) : undefined
    if (request.cookies.length > 0) request.headers['cookie'] = request.cookies.join('; ')
    const answer = await askAgain(request, options, context)
    if (answer.status === 401 && !isSecond && signed?.renew()) continue
    return { answer, secrets: signed?.secrets ?? [] }
  }
}

/** What reads alone is asked again where its server was busy or lost. */
async function askAgain(request: Request, options: CallOptions, { signal, log }: ToolContext): Promise<FetchedResponse> {
  for (let repeats = 0; ; repeats++) {
    const outcome = await ask(request, options, signal)
    const delay = safe.has(request.method) && repeats < maxRepeats ? delayMs(outcome, repeats) : undefined
    if (delay === undefined) {
      if (outcome instanceof Error) throw outcome
      return outcome
    }
    log(`${outcome instanceof Error ? outcome.message : `It answered ${outcome.status}.`} Asked again in ${Math.round(delay)} ms.`)
    await wait(delay, undefined, { signal })
  }
}

class Unreached extends Error {
  readonly mayPass: boolean

  constructor(message: string, mayPass: boolean, options: ErrorOptions) {
    super(message, options)
    this.mayPass = mayPass
  }
}

async function ask(request: Request, { outbound, isTrusted }: CallOptions, signal: AbortSignal): Promise<FetchedResponse | Unreached> {
  const { url, method, headers, body } = request
  const fetch = isTrusted ? outbound.fetchConfigured : outbound.fetch
  try {
    const response = await fetch(url.href, { method, headers, signal, ...(body !== undefined && { body }) })
    return { url: response.url, status: response.status, headers: response.headers, ...(await readAtMost(response, maxBodyBytes)) }
  } catch (cause) {
    signal.throwIfAborted()
    return toUnreached(cause, isTrusted)
  }
}

const lost: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'UND_ERR_SOCKET',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** What an address inside is like is said of those alone that an administrator has named. */
function toUnreached(error: unknown, isTrusted: boolean): Unreached {
  const cause: NodeJS.ErrnoException | undefined = error instanceof Error && error.cause instanceof Error ? error.cause : undefined
  const { code } = cause ?? {}
  if (code === 'EREFUSED')
    return new Unreached('The API is at, or leads to, an address that is not public and not configured.', false, { cause: error })
  const said = isTrusted && code !== undefined ? ` (${code})` : ''
  return new Unreached(`The API could not be reached${said}.`, code !== undefined && lost.has(code), { cause: error })
}

/** Undefined where asking again is of no use. */
function delayMs(outcome: FetchedResponse | Unreached, repeats: number): number | undefined {
  const own = firstDelayMs * 2 ** repeats * (1 + Math.random())
  if (outcome instanceof Unreached) return outcome.mayPass ? own : undefined
  if (outcome.status !== 429 && outcome.status !== 503) return undefined
  const after = retryAfterMs(outcome.headers.get('retry-after'))
  return after === undefined ? own : after <= maxDelayMs ? after : undefined
}

/** Seconds, or a date (RFC 9110, 10.2.3). */
function retryAfterMs(value: string | null): number | undefined {
  if (value === null || value.trim() === '') return undefined
  const ms = /^\d+$/.test(value.trim()) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

function toFault({ method, path }: Operation, { status, headers, bytes }: FetchedResponse): string {
  const after = headers.get('retry-after')
  const wait = after === null ? '' : ` It may be asked again after ${after}${/^\d+$/.test(after) ? ' s' : ''}.`
  const type = headers.get('content-type')
  const text = isText(bytes, type) ? decodeText(bytes, type).trim() : ''
  const said = text.length > maxFault ? `${text.slice(0, maxFault).toWellFormed()} [cut]` : text
  return `${method} ${path} answered ${status}.${wait}${said === '' ? '' : `\n${said}`}`
}
