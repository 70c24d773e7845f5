import type { AccessKeyRecord, AccessKeyStore } from './access-key-store.ts'

/** The fake of `AccessKeyStore`: keeps the register in memory. */
export function createMemoryKeyStore(): AccessKeyStore {
  const records = new Map<string, AccessKeyRecord>()
  const compare = (a: Pick<AccessKeyRecord, 'createdAt' | 'jti'>, b: Pick<AccessKeyRecord, 'createdAt' | 'jti'>) =>
    b.createdAt - a.createdAt || (a.jti < b.jti ? 1 : a.jti > b.jti ? -1 : 0)
  const list = (tenant?: string) => {
    return [...records.values()].filter((record) => tenant === undefined || record.tenant === tenant).sort(compare)
  }
  return {
    async insert(record) {
      if (!records.has(record.jti)) records.set(record.jti, { ...record })
    },
    list: async (tenant) => list(tenant),
    async page(tenant, { limit, before }) {
      return list(tenant)
        .filter((record) => before === undefined || compare(before, record) < 0)
        .slice(0, limit)
    },
    async revoke(jti, at, tenant) {
      const record = records.get(jti)
      if (!record || (tenant !== undefined && record.tenant !== tenant)) return undefined
      const isNew = record.revokedAt === undefined
      record.revokedAt ??= at
      return { jti, revokedAt: record.revokedAt, isNew }
    },
    async markUsed(jtis, at, staleBefore) {
      for (const jti of jtis) {
        const record = records.get(jti)
        if (record && (record.lastUsedAt ?? -Infinity) <= staleBefore) record.lastUsedAt = at
      }
    },
    async latestExpiry() {
      return Math.max(0, ...[...records.values()].map(({ expiresAt, revokedAt }) => (revokedAt === undefined ? expiresAt : 0)))
    },
    async revokedSince(ms) {
      return [...records.values()].flatMap(({ jti, revokedAt }) => (revokedAt !== undefined && revokedAt >= ms ? [{ jti, revokedAt }] : []))
    },
  }
}
