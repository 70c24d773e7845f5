import { connectionLost, watchConnection } from './connection.ts'
import { csrfToken, hasSession, waitForSignIn } from './session-state.ts'

/** Longest wait, in seconds, that a `retry-after` of the service is followed. */
const maxRetrySeconds = 30
const maxRefusals = 3
/** Paths whose 401 is an answer: the caller's session, and signing in. */
const sessionPaths = /\/(?:core\/v1\/me|console\/session)$/

/**
 * `fetch` of every request of the console. The session's cookie authenticates it.
 * - A request that changes something carries the token against cross-site request forgery.
 * - After a 401 in the middle of work, the request waits until the user has signed in again, and is repeated.
 * - After a 429, the request waits as `retry-after` says, and is repeated. A refused request has changed nothing. The 429 of a budget is
 *   an answer: the budget may be used up for weeks.
 * - A broken connection is announced by the banner, and rejects as `fetch` does.
 */
export async function serviceFetch(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  for (let refusals = 0; ; refusals++) {
    const response = await send(input, init)
    if (response.status === 401 && hasSession() && !sessionPaths.test(response.url)) await waitForSignIn(init.signal)
    else if (response.status === 429 && response.headers.get('x-should-retry') !== 'false' && refusals < maxRefusals)
      await waitForTurn(response, init.signal)
    else return response
    await response.body?.cancel()
  }
}

async function send(input: RequestInfo | URL, init: RequestInit): Promise<Response> {
  const method = (init.method ?? 'GET').toUpperCase()
  const headers = new Headers(init.headers)
  const token = csrfToken.get()
  if (token !== undefined && method !== 'GET' && method !== 'HEAD') headers.set('x-csrf-token', token)
  try {
    const response = await fetch(input, { ...init, headers, credentials: 'same-origin' })
    connectionLost.set(false)
    return response
  } catch (error) {
    if (error instanceof TypeError) watchConnection()
    throw error
  }
}

function waitForTurn(response: Response, signal?: AbortSignal | null): Promise<void> {
  const seconds = Math.min(Number(response.headers.get('retry-after')) || 1, maxRetrySeconds)
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason as Error)
    })
  })
}
