import { createRemoteJWKSet, customFetch, errors, type FetchImplementation, type JWTVerifyGetKey } from 'jose'
import { ServiceError } from '../../errors.ts'

/**
 * After a failed fetch the provider is not asked again for this long, so that a bad provider does not hold up every
 * request.
 */
const pauseMs = 2000
const timeoutMs = 5000

export interface ProviderKeysOptions {
  jwksUrl: string
  /** Epoch milliseconds. */
  now(): number
  fetch?: FetchImplementation
}

/**
 * Finds an identity provider's signing key. Keys are fetched once for all waiting requests, cached for 10 minutes, and
 * fetched again at most every 30 s for an unknown key. Rejects with `overloaded` when the provider cannot be reached,
 * otherwise with an error of jose.
 */
export function createProviderKeys({ jwksUrl, now, fetch }: ProviderKeysOptions): JWTVerifyGetKey {
  const remote = createRemoteJWKSet(new URL(jwksUrl), {
    timeoutDuration: timeoutMs,
    cooldownDuration: 30_000,
    cacheMaxAge: 10 * 60_000,
    ...(fetch ? { [customFetch]: fetch } : {}),
  })
  let pausedUntil = 0

  return async (header, token) => {
    if (!remote.fresh && now() < pausedUntil) throw unreachable()
    try {
      return await remote(header, token)
    } catch (error) {
      if (isAboutTheToken(error)) throw error
      pausedUntil = now() + pauseMs
      throw unreachable(error)
    }
  }
}

/**
 * True when the provider answered without a matching key, which is the token's fault. All other errors are the
 * provider's.
 */
function isAboutTheToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported ||
    error instanceof errors.JOSEAlgNotAllowed
  )
}

function unreachable(cause?: unknown): ServiceError {
  return new ServiceError('overloaded', 'The identity provider cannot be reached; the key could not be verified.', {
    cause,
    retryAfter: 5,
  })
}
