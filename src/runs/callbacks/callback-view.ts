import type { CallbackAttempt, CallbackStatus, StoredCallback } from './callback-store.ts'

/** JSON view of a callback for the run's caller. The URL has no user or password. */
export interface CallbackView {
  url: string
  status: CallbackStatus
  attempts: { at: string; status: number | null; error?: string }[]
}

export function toCallbackView({ url, status, attempts }: StoredCallback): CallbackView {
  return { url: withoutUser(url), status, attempts: attempts.map(toAttempt) }
}

function toAttempt({ at, ...rest }: CallbackAttempt): CallbackView['attempts'][number] {
  return { at: new Date(at).toISOString(), ...rest }
}

function withoutUser(address: string): string {
  const url = new URL(address)
  if (url.username === '' && url.password === '') return address
  url.username = ''
  url.password = ''
  return url.href
}
