import { errors } from 'jose'
import { ClaimError } from './identity.ts'

/**
 * The reason for refusing a token, in words that complete "JWT verification failed: ..."; parts of the token are not
 * repeated.
 */
export function toReason(error: unknown): string {
  if (error instanceof ClaimError) return error.message
  if (error instanceof errors.JWTExpired) return 'the key has expired'
  if (error instanceof errors.JWTClaimValidationFailed) return toClaimReason(error)
  if (error instanceof errors.JOSEAlgNotAllowed) return 'its algorithm is not accepted'
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature does not fit'
  if (error instanceof errors.JWKSNoMatchingKey) return 'the identity provider has no key that could have signed it'
  if (error instanceof errors.JWKSMultipleMatchingKeys) return "it does not say which of the identity provider's keys signed it"
  return 'it is not a valid JWT'
}

function toClaimReason({ claim, reason }: errors.JWTClaimValidationFailed): string {
  if (claim === 'nbf' && reason === 'check_failed') return 'the key is not valid yet'
  return reason === 'missing' ? `it has no "${claim}" claim` : `its "${claim}" claim is not what is expected here`
}
