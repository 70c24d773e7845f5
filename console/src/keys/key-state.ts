export type KeyState = 'active' | 'expired' | 'revoked'

interface KeyTimes {
  expires_at: string
  revoked_at: string | null
}

/** State of a key at `now` (epoch milliseconds). A key that was revoked stays so after its expiry. */
export function keyStateOf({ expires_at: expiresAt, revoked_at: revokedAt }: KeyTimes, now = Date.now()): KeyState {
  if (revokedAt !== null) return 'revoked'
  return Date.parse(expiresAt) <= now ? 'expired' : 'active'
}
