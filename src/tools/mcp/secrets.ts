import { createMask } from '../web/secrets.ts'

/** Takes secrets out of texts that a server wrote: it may tell the key that it was given. */
export type HideSecrets = (text: string) => string

/** What is shorter would be found in every second word. */
const minCharacters = 5

export interface Secrets {
  /** For logs and reasons: whatever was configured. */
  hide: HideSecrets
  /** For data and errors that models and callers are shown: what is surely secret, as `true` or a folder's name is not. */
  mask<T>(told: T): T
  /** One that came later: a token. */
  add(value: string): void
}

/** `certain`: those of the values that are no mere settings. */
export function createSecrets(values: readonly string[], certain: readonly string[] = values): Secrets {
  let hide = createSecretHider(values)
  let maskText = createMask(certain)
  const later: string[] = []
  return {
    hide: (text) => hide(text),
    mask(told) {
      if (certain.length === 0 && later.length === 0) return told
      const text = JSON.stringify(told)
      const masked = maskText(text)
      return masked === text ? told : (JSON.parse(masked) as typeof told)
    },
    add(value) {
      later.unshift(value)
      // One is in use, and the one before it may still be answered.
      later.splice(2)
      hide = createSecretHider([...values, ...later])
      maskText = createMask([...certain, ...later])
    },
  }
}

function createSecretHider(values: readonly string[]): HideSecrets {
  // A secret of several lines (a PEM file) is written line by line; the longest first, as one may contain another.
  const lines = values
    .flatMap((value) => [value, ...value.split('\n'), value.replace(/^(Bearer|Basic)\s+/i, '')])
    .map((line) => line.trim())
  const known = [...new Set(lines)].filter((line) => line.length >= minCharacters).sort((a, b) => b.length - a.length)
  return (text) => known.reduce((shown, secret) => shown.replaceAll(secret, '********'), text)
}
