import { hideUrlSecrets } from '../../configuration/redact.ts'
import { interruptedType } from './callback-event.ts'
import type { CallbackAttempt, CallbackStatus, StoredCallback } from './callback-store.ts'

/** JSON view of a callback for the run's caller. The URL has no user or password. */
export interface CallbackView {
  url: string
  status: CallbackStatus
  attempts: { at: string; event?: typeof interruptedType; status: number | null; error?: string }[]
}

export function toCallbackView({ url, status, attempts }: StoredCallback): CallbackView {
  return { url: withoutUser(url), status, attempts: attempts.map(toAttempt) }
}

export function toAttempt({ at, status, error, interruption }: CallbackAttempt): CallbackView['attempts'][number] {
  return {
    at: new Date(at).toISOString(),
    ...(interruption === undefined ? {} : { event: interruptedType }),
    status,
    ...(error === undefined ? {} : { error }),
  }
}

/** The URL for readers who are not the owner of the run: user, password and query are masked. */
export function toForeignUrl(address: string): string {
  return hideUrlSecrets(new URL(address).href)
}

export function withoutUser(address: string): string {
  const url = new URL(address)
  if (url.username === '' && url.password === '') return address
  url.username = ''
  url.password = ''
  return url.href
}
