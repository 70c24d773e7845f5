import { createStore } from './store.ts'

/** Token of `GET /core/v1/me`, sent with every request that changes something. */
export const csrfToken = createStore<string | undefined>(undefined)

/** True when a session has ended in the middle of work: the dialog to sign in again is open. */
export const sessionEnded = createStore(false)

/** The signed-in caller; undefined before the first answer of `GET /core/v1/me`. */
let currentCaller: string | undefined

/**
 * Stores the session of `GET /core/v1/me`, and releases the requests that wait for a session. Returns false, without effect, if the
 * session belongs to another caller than before.
 */
export function noteSession(caller: string, token: string | undefined): boolean {
  if (currentCaller !== undefined && currentCaller !== caller) return false
  currentCaller = caller
  csrfToken.set(token)
  sessionEnded.set(false)
  return true
}

/** Forgets the session after the user has logged out, or before another user signs in. */
export function forgetSession(): void {
  currentCaller = undefined
  csrfToken.set(undefined)
  sessionEnded.set(false)
}

export function hasSession(): boolean {
  return currentCaller !== undefined
}

/** Opens the dialog to sign in again, and resolves when a session is there. Rejects when `signal` aborts. */
export function waitForSignIn(signal?: AbortSignal | null): Promise<void> {
  sessionEnded.set(true)
  return new Promise((resolve, reject) => {
    const stop = sessionEnded.subscribe(() => {
      if (sessionEnded.get()) return
      stop()
      resolve()
    })
    signal?.addEventListener('abort', () => {
      stop()
      reject(signal.reason as Error)
    })
  })
}
