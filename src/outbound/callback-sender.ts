import { Webhook } from 'standardwebhooks'
import { CallbackNotSent, type OutgoingCallback, type SendCallback } from '../runs/callbacks/callbacks.ts'
import type { GuardedFetch } from './guarded-fetch.ts'

interface Options {
  fetch: GuardedFetch['fetch']
  /** `whsec_...`, one or two while they change. */
  secretsOf(tenant: string): string[]
  /** Epoch milliseconds. */
  now(): number
}

/** In which a receiver has to answer. */
const answerMs = 15_000

/** Sends callbacks as CloudEvents in structured mode, signed as Standard Webhooks has it. */
export function createCallbackSender({ fetch, secretsOf, now }: Options): SendCallback {
  function headersOf({ tenant, id, body }: OutgoingCallback): Record<string, string> {
    const at = new Date(now())
    return {
      'content-type': 'application/cloudevents+json',
      'user-agent': 'agent-core',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': secretsOf(tenant)
        .map((secret) => new Webhook(secret).sign(id, at, body))
        .join(' '),
    }
  }

  return async (callback, signal) => {
    const { url, authorization } = withoutUser(callback.url)
    const headers = { ...headersOf(callback), ...(authorization ? { authorization } : {}) }
    const until = AbortSignal.any([signal, AbortSignal.timeout(answerMs)])
    try {
      const response = await fetch(url, { method: 'POST', headers, body: callback.body, redirect: 'manual', signal: until })
      // What it says beside the status is of no use, however long it is.
      await response.body?.cancel().catch(() => undefined)
      return response.status
    } catch (error) {
      if (signal.aborted) throw error
      throw new CallbackNotSent(reasonOf(error), { cause: error })
    }
  }
}

/** `fetch` takes no user in an address: it is sent as a header. */
function withoutUser(address: string): { url: string; authorization: string | undefined } {
  const url = new URL(address)
  const { username, password } = url
  if (username === '' && password === '') return { url: address, authorization: undefined }
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

/** In words that hold nothing of the address. */
function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `No answer within ${answerMs / 1000} s.`
  const cause = error instanceof Error ? error.cause : undefined
  const code = cause instanceof Error ? (cause as NodeJS.ErrnoException).code : undefined
  if (code === 'EREFUSED') return 'The address is not public.'
  return code === undefined ? 'The connection failed.' : `The connection failed (${code}).`
}
