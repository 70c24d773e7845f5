import { Webhook } from 'standardwebhooks'
import { maxExcerptBytes, toBodyExcerpt, CallbackNotSent, type SendCallback } from '../runs/callbacks/attempt.ts'
import type { GuardedFetch } from './guarded-fetch.ts'

interface CallbackSenderOptions {
  fetch: GuardedFetch['fetch']
  /** The tenant's secrets as `whsec_...`: one, or two during a rotation. */
  secretsOf(tenant: string): string[]
  /** Epoch milliseconds. */
  now(): number
}

/** Time limit for a receiver's answer. */
const answerMs = 15_000

/** Time limit for the start of the answer's body, which is only shown: a slow body must not delay other callbacks. */
const bodyMs = 1000

const cloudEventType = 'application/cloudevents+json'

/** Sends callbacks, by default CloudEvents in structured mode, signed by Standard Webhooks. */
export function createCallbackSender({ fetch, secretsOf, now }: CallbackSenderOptions): SendCallback {
  return async (callback, signal) => {
    const { tenant, id, body, contentType = cloudEventType } = callback
    // `fetch` refuses user and password in a URL.
    const { url, authorization }: Target = callback.url.includes('@') ? withoutUser(callback.url) : { url: callback.url }
    const at = new Date(now())
    const signatures = secretsOf(tenant).map((secret) => new Webhook(secret).sign(id, at, body))
    const headers = {
      'content-type': contentType,
      'user-agent': 'agent-core',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': signatures.join(' '),
      ...(authorization ? { authorization } : {}),
      ...callback.headers,
    }
    const until = AbortSignal.any([signal, AbortSignal.timeout(answerMs)])
    try {
      const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal: until })
      return { status: response.status, body: toBodyExcerpt(await readStart(response)) }
    } catch (error) {
      if (signal.aborted) throw error
      throw new CallbackNotSent(reasonOf(error), { cause: error })
    }
  }
}

/** The first bytes of the body; fewer where the body is slow or breaks. The status has decided the attempt already. */
async function readStart({ body }: Awaited<ReturnType<GuardedFetch['fetch']>>): Promise<Uint8Array> {
  if (!body) return new Uint8Array()
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  const cancel = () => void reader.cancel().catch(() => undefined)
  const timer = setTimeout(cancel, bodyMs)
  try {
    for (let size = 0; size < maxExcerptBytes;) {
      const { done, value } = await reader.read()
      if (done) break
      chunks.push(value as Uint8Array)
      size += (value as Uint8Array).length
    }
  } catch {
    // The connection broke.
  } finally {
    clearTimeout(timer)
    cancel()
  }
  return Buffer.concat(chunks)
}

interface Target {
  url: string
  authorization?: string
}

/** Moves user and password of a URL to a header. */
function withoutUser(address: string): Target {
  const url = new URL(address)
  const { username, password } = url
  if (username === '' && password === '') return { url: address }
  url.username = ''
  url.password = ''
  const user = `${decode(username)}:${decode(password)}`
  return { url: url.href, authorization: `Basic ${Buffer.from(user).toString('base64')}` }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The reason of a failure, without parts of the URL. */
function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `No answer within ${answerMs / 1000} s.`
  const cause = error instanceof Error ? error.cause : undefined
  const code = cause instanceof Error ? (cause as NodeJS.ErrnoException).code : undefined
  if (code === 'EREFUSED') return 'The address is not public.'
  return code === undefined ? 'The connection failed.' : `The connection failed (${code}).`
}
