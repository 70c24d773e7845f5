import { createStore } from './store.ts'

/** Token of `GET /core/v1/me`, sent with every request that changes something. */
export const csrfToken = createStore<string | undefined>(undefined)

/** Whether a session has ended in the middle of work: the dialog to sign in again is open. */
export const sessionEnded = createStore(false)

let isSignedIn = false

/** Notes the session that `GET /core/v1/me` has answered for, and releases the requests that wait for it. */
export function noteSession(token: string | undefined): void {
  isSignedIn = true
  csrfToken.set(token)
  sessionEnded.set(false)
}

/** Forgets the session after the user has logged out. */
export function forgetSession(): void {
  isSignedIn = false
  csrfToken.set(undefined)
  sessionEnded.set(false)
}

export function hasSession(): boolean {
  return isSignedIn
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
