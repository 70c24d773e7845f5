import { referencesIn } from '../../configuration/references.ts'

/** Shorter secrets would match ordinary text by chance. */
const minCharacters = 8

/** Replaces secrets that a server sends back: the whole secret, and its last word (`Bearer ...`), plain, JSON-escaped and URL-encoded. */
export function createMask(secrets: readonly string[]): (text: string) => string {
  const masked = secrets
    .flatMap((secret) => [secret, secret.split(' ').at(-1)!])
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret.toWellFormed())])
    .filter((secret) => secret.length >= minCharacters)
  const longestFirst = [...new Set(masked)].sort((first, second) => second.length - first.length)
  return (text) => longestFirst.reduce((rest, secret) => rest.replaceAll(secret, '********'), text)
}

/** True when a configured header is a secret. `api-version: 2024-01-01` is not, and masking the value would damage responses. */
export function isSecretHeader(name: string, configured: string): boolean {
  return referencesIn(configured).length > 0 || isSecretName(name)
}

/** True when a value of this name is most likely a secret. */
export function isSecretName(name: string): boolean {
  return /auth|key|token|secret|cookie|pass|credential|signature/i.test(name)
}
