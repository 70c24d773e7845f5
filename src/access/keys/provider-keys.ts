import { createRemoteJWKSet, customFetch, errors, type FetchImplementation, type JWTVerifyGetKey } from 'jose'
import { ServiceError } from '../../errors.ts'

/** After a failed look nobody waits for the provider again for so long: bad days of one must not hold every request up. */
const pauseMs = 2000
const timeoutMs = 5000

export interface ProviderKeysOptions {
  jwksUrl: string
  /** Epoch milliseconds. */
  now(): number
  fetch?: FetchImplementation
}

/**
 * Finds an identity provider's signing key. Keys are fetched once for all who wait, kept for 10 minutes, and looked for anew at
 * most every 30 s when one is not known. Rejects with `overloaded` where the provider can't be asked, else with an error of jose.
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

/** The provider answered, and none of its keys is the one: that is the token's fault. All else is the provider's. */
function isAboutTheToken(error: unknown): boolean {
  return (
    error instanceof errors.JWKSNoMatchingKey ||
    error instanceof errors.JWKSMultipleMatchingKeys ||
    error instanceof errors.JOSENotSupported ||
    error instanceof errors.JOSEAlgNotAllowed
  )
}

function unreachable(cause?: unknown): ServiceError {
  return new ServiceError('overloaded', 'The identity provider can not be reached; the key could not be verified.', {
    cause,
    retryAfter: 5,
  })
}
