/** Takes secrets out of texts that a server wrote: it may tell the key that it was given. */
export type HideSecrets = (text: string) => string

/** What is shorter would be found in every second word. */
const minCharacters = 5

export interface Secrets {
  hide: HideSecrets
  /** One that came later: a token. */
  add(value: string): void
}

export function createSecrets(values: readonly string[]): Secrets {
  let hide = createSecretHider(values)
  const later: string[] = []
  return {
    hide: (text) => hide(text),
    add(value) {
      later.unshift(value)
      // One is in use, and the one before it may still be answered.
      later.splice(2)
      hide = createSecretHider([...values, ...later])
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
