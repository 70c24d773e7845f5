import type { Reader } from './values.ts'
import type { VariableName } from './variables.ts'

/** The sign-in of the console at the identity provider. */
export interface ConsoleSignInSettings {
  clientId: string
  /** Undefined: a public client. */
  clientSecret: string | undefined
  scope: string
  /** Undefined: by discovery from the issuer. */
  authorizeUrl: string | undefined
  tokenUrl: string | undefined
}

const dependents = ['CONSOLE_CLIENT_SECRET', 'CONSOLE_SCOPE', 'CONSOLE_AUTHORIZE_URL', 'CONSOLE_TOKEN_URL'] as const

/** Reads the `CONSOLE_*` variables; undefined without `CONSOLE_CLIENT_ID`. */
export function readConsoleSignIn(
  read: Reader,
  problems: string[],
  provider: { issuer: string } | undefined,
): ConsoleSignInSettings | undefined {
  const isSet = (name: VariableName) => read.text(name) !== undefined
  const clientId = read.text('CONSOLE_CLIENT_ID')
  const settings = {
    clientSecret: read.text('CONSOLE_CLIENT_SECRET'),
    scope: read.checked('CONSOLE_SCOPE', (text) => /^[\x21-\x7e]+( [\x21-\x7e]+)*$/.test(text), 'scopes separated by a space') ?? 'openid',
    // Some identity providers need further parameters, such as an audience.
    authorizeUrl: read.address('CONSOLE_AUTHORIZE_URL', { query: true }),
    tokenUrl: read.address('CONSOLE_TOKEN_URL', { query: true }),
  }
  const named = dependents.filter(isSet)
  if (clientId === undefined) {
    if (named.length > 0) problems.push(`CONSOLE_CLIENT_ID is not set, but ${named[0]} is.`)
    return undefined
  }
  if (!provider) {
    if (!isSet('ACCESS_ISSUER'))
      problems.push('CONSOLE_CLIENT_ID needs an identity provider: set ACCESS_ISSUER and the variables beside it.')
    return undefined
  }
  if (isSet('CONSOLE_AUTHORIZE_URL') !== isSet('CONSOLE_TOKEN_URL')) {
    problems.push('CONSOLE_AUTHORIZE_URL and CONSOLE_TOKEN_URL must be set together.')
  }
  if (!isSet('CONSOLE_TOKEN_URL') && !/^https?:\/\//i.test(provider.issuer)) {
    problems.push('CONSOLE_AUTHORIZE_URL and CONSOLE_TOKEN_URL must be set, because ACCESS_ISSUER is no address.')
  }
  return { clientId, ...settings }
}
