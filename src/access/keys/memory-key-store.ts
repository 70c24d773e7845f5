import type { AccessKeyRecord, AccessKeyStore } from './access-key-store.ts'

/** The fake of `AccessKeyStore`: keeps the register in memory. */
export function createMemoryKeyStore(): AccessKeyStore {
  const records = new Map<string, AccessKeyRecord>()
  return {
    async insert(record) {
      if (!records.has(record.jti)) records.set(record.jti, { ...record })
    },
    async list(tenant) {
      const matching = [...records.values()].filter((record) => tenant === undefined || record.tenant === tenant)
      return matching.sort((a, b) => b.createdAt - a.createdAt || (a.jti < b.jti ? 1 : -1))
    },
    async revoke(jti, at) {
      const record = records.get(jti)
      if (!record || record.revokedAt !== undefined) return false
      record.revokedAt = at
      return true
    },
    async latestExpiry() {
      return Math.max(0, ...[...records.values()].map(({ expiresAt, revokedAt }) => (revokedAt === undefined ? expiresAt : 0)))
    },
    async revokedSince(ms) {
      return [...records.values()].flatMap(({ jti, revokedAt }) => (revokedAt !== undefined && revokedAt >= ms ? [{ jti, revokedAt }] : []))
    },
  }
}
