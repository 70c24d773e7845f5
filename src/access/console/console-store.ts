import type { Identity } from '../identity.ts'

/** The key for which a code or a session stands. */
export interface Grant {
  identity: Identity
  /** The `jti` of the key; of a token without one, its SHA-256. */
  keyId: string
}

/** A code or a session. Times in epoch milliseconds. */
export interface NewConsoleEntry extends Grant {
  /** SHA-256 of the code, or of the cookie's value. */
  hash: string
  createdAt: number
  expiresAt: number
}

/** Port: the one-time codes and the sessions of the console. The adapter lives in store/. */
export interface ConsoleStore {
  /** Adds a code. Of the key's codes, only the `keep` newest stay. */
  addCode(code: NewConsoleEntry, keep: number): Promise<void>
  /** Uses up a code, in one conditional update: of concurrent calls one gets the grant. Undefined for a used, expired or unknown code. */
  takeCode(hash: string, now: number): Promise<Grant | undefined>
  /** Adds a session, and ends the session with the hash `replaced`. Of the key's sessions, only the `keep` newest stay. */
  addSession(session: NewConsoleEntry, options: { keep: number; replaced: string | undefined }): Promise<void>
  /** Undefined for a session that has ended. */
  findSession(hash: string, now: number): Promise<(Grant & { expiresAt: number }) | undefined>
  removeSession(hash: string): Promise<void>
  /** Removes at most `limit` codes and `limit` sessions that have expired. Resolves with the number of removed rows. */
  removeExpired(now: number, limit: number): Promise<number>
}
