import type { AccessKeyRecord, AccessKeyStore } from './keys.ts'
import type { SharedSecret } from './shared-secret.ts'

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
      if (records.get(record.creator?.keyId ?? '')?.revokedAt !== undefined) return false
      if (!records.has(record.jti)) records.set(record.jti, { ...record })
      return true
    },
    list: async (tenant) => list(tenant),
    async page(tenant, { limit, before }) {
      return list(tenant)
        .filter((record) => before === undefined || compare(before, record) < 0)
        .slice(0, limit)
    },
    async revoke(jti, at, { tenant, check } = {}) {
      const record = records.get(jti)
      if (!record || (tenant !== undefined && record.tenant !== tenant)) return undefined
      check?.([record])
      const isNew = record.revokedAt === undefined
      record.revokedAt ??= at
      return { jti, revokedAt: record.revokedAt, isNew }
    },
    async revokeCreatedBy(owner, at, { tenant, check } = {}) {
      const created = new Set<AccessKeyRecord>()
      // A key is listed before the keys that were created with it.
      for (const record of list(tenant).toReversed()) {
        const isCreated = [...created].some(({ jti }) => jti === record.creator?.keyId)
        if (record.creator && (record.creator.owner === owner || isCreated)) created.add(record)
      }
      const active = [...created].filter(({ revokedAt }) => revokedAt === undefined)
      check?.(active)
      for (const record of active) record.revokedAt = at
      return active.map(({ jti }) => jti)
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

/** The fake of `SharedSecret`; the text is in `kept`. */
export function createMemorySecret(kept?: string): SharedSecret & { kept: string | undefined } {
  return {
    label: 'memory',
    kept,
    async load() {
      return this.kept
    },
    async change(next) {
      for (;;) {
        const current = this.kept
        const text = await next(current)
        if (this.kept === current) return (this.kept = text)
      }
    },
  }
}
