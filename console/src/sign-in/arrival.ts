import type { Credential } from '../api/session.ts'
import { readProviderReply } from './identity-provider.ts'

/** The arrival at the page: a credential, or the reason why no credential is present. */
export interface Arrival {
  credential?: Credential
  fault?: string
  /** Path of the console to go on to. */
  next?: string
}

const codePattern = /^#code=([\w-]+)$/

let arrival: Arrival | undefined

/** Takes the one-time code `#code=...`, or the reply of the identity provider, out of the page's address. */
export function takeArrival(): void {
  const code = codePattern.exec(location.hash)?.[1]
  const reply = location.pathname.endsWith('/sign-in') ? readProviderReply(new URLSearchParams(location.search)) : undefined
  if (code === undefined && !reply) return
  arrival = code === undefined ? reply : { credential: { code } }
  history.replaceState(history.state, '', location.pathname)
}

/** Loads the page again for a link with a code that is opened in a tab of the sign-in page: only the fragment changes then. */
export function watchArrivals(): void {
  addEventListener('hashchange', () => {
    if (codePattern.test(location.hash)) location.reload()
  })
}

/** The arrival at the page; the first call uses the arrival up. */
export function useUpArrival(): Arrival | undefined {
  const current = arrival
  arrival = undefined
  return current
}

export function hasArrival(): boolean {
  return arrival !== undefined
}
