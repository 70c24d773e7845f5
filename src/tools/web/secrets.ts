import { referencesIn } from '../../configuration/references.ts'

/** Shorter ones may stand in any text by chance. */
const shortest = 8

/** Hides secrets that a server says back, as it stands and the last word alone (`Bearer ...`), from what a model and a caller are shown. */
export function createMask(secrets: readonly string[]): (text: string) => string {
  const hidden = secrets
    .flatMap((secret) => [secret, secret.split(' ').at(-1)!])
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret.toWellFormed())])
    .filter((secret) => secret.length >= shortest)
  const longestFirst = [...new Set(hidden)].sort((one, other) => other.length - one.length)
  return (text) => longestFirst.reduce((rest, secret) => rest.replaceAll(secret, '********'), text)
}

/** Whether a configured header is one: `api-version: 2024-01-01` is not, and its value stands in many an answer. */
export function isSecretHeader(name: string, configured: string): boolean {
  return referencesIn(configured).length > 0 || isSecretName(name)
}

/** Whether what bears this name is most likely a secret. */
export function isSecretName(name: string): boolean {
  return /auth|key|token|secret|cookie|pass|credential|signature/i.test(name)
}
