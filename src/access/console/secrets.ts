import { createHmac, hash, randomBytes } from 'node:crypto'

/** A new code or cookie value: 256 bits as 43 characters of base64url. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** True for the form of `newSecret`. Other texts are never looked up. */
export function isSecret(text: unknown): text is string {
  return typeof text === 'string' && /^[\w-]{43}$/.test(text)
}

/** The stored form of a secret. 256 random bits need no salt and no slow hash. */
export function hashOf(secret: string): string {
  return hash('sha256', secret, 'base64url')
}

/** The token that requests of a session repeat in `x-csrf-token`: only a holder of the cookie can compute it, and it does not reveal the cookie. */
export function csrfTokenOf(cookieValue: string): string {
  return createHmac('sha256', cookieValue).update('agent-core csrf token').digest('base64url')
}
