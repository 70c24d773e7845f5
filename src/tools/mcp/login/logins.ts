import type { LoginKey, LoginStore } from '../../../configuration/login-store.ts'

/** The login of one server. */
export interface Logins {
  store: LoginStore
  key: LoginKey
}

/** The server requires the login of a person: there is none, or the service cannot renew its token. */
export class LoginRequired extends Error {
  override readonly name = 'LoginRequired'
}

export function noLogin(entry: string): LoginRequired {
  return new LoginRequired(`The server requires a login (401): run "${loginCommand(entry)}", or set headers or oauth.`)
}

export function loginEnded(entry: string): LoginRequired {
  return new LoginRequired(`The login at the server has ended: run "${loginCommand(entry)}" again.`)
}

/** `scope`: what the server requires, on one line. */
export function scopeMissing(entry: string, scope: string): LoginRequired {
  return new LoginRequired(
    `The server requires the scopes ${scope} for this request (403), which the login does not have: run "${loginCommand(entry)}" again.`,
  )
}

function loginCommand(entry: string): string {
  return `agent-core tool login ${entry}`
}

/** The error in a chain of causes; undefined when no login is missing. */
export function findLoginRequired(error: unknown): LoginRequired | undefined {
  if (error instanceof LoginRequired) return error
  return error instanceof Error ? findLoginRequired(error.cause) : undefined
}
