import { createMask } from '../web/secrets.ts'

/** Replaces secrets in texts of a server, which may contain the key sent with a request. */
export type HideSecrets = (text: string) => string

/** Shorter values would match ordinary words. */
const minCharacters = 5

export interface Secrets {
  /** Hides every configured value, for logs and reasons. */
  hide: HideSecrets
  /** Masks only certain secrets, for results and errors: masking a setting such as `true` or a folder name would damage the data. */
  mask<T>(value: T): T
  /** Adds a secret obtained at run time, such as an access token. */
  add(value: string): void
}

/** `secretValues`: the values that are secrets and not mere settings. */
export function createSecrets(values: readonly string[], secretValues: readonly string[] = values): Secrets {
  let hide = createSecretHider(values)
  let maskText = createMask(secretValues)
  const tokens: string[] = []
  return {
    hide: (text) => hide(text),
    mask(value) {
      if (secretValues.length === 0 && tokens.length === 0) return value
      const text = JSON.stringify(value)
      const masked = maskText(text)
      return masked === text ? value : (JSON.parse(masked) as typeof value)
    },
    add(value) {
      tokens.unshift(value)
      // Two tokens are remembered: a response to a request with the previous token may still arrive.
      tokens.splice(2)
      hide = createSecretHider([...values, ...tokens])
      maskText = createMask([...secretValues, ...tokens])
    },
  }
}

function createSecretHider(values: readonly string[]): HideSecrets {
  // A multi-line secret (a PEM file) is hidden line by line. Longer secrets go first, because a secret may contain another secret.
  const lines = values
    .flatMap((value) => [value, ...value.split('\n'), value.replace(/^(Bearer|Basic)\s+/i, '')])
    .map((line) => line.trim())
  const secrets = [...new Set(lines)].filter((line) => line.length >= minCharacters).sort((a, b) => b.length - a.length)
  return (text) => secrets.reduce((masked, secret) => masked.replaceAll(secret, '********'), text)
}
