import { sql } from 'kysely'
import type { RunStore } from '../../runs/run-store.ts'
import { query, type Database } from '../database.ts'
import { whereChat } from './where-chat.ts'

/** The part of `RunStore` that finds runs of a tenant by request id only. The primary key of `runs` begins with tenant and request id. */
export function runOwners(database: Database): Pick<RunStore, 'ownersOf'> {
  return {
    async ownersOf({ tenant, owner, requestId }, { issuer, sub }) {
      const ownFirst = sql`case when owner = ${owner} then 0 else 1 end`
      const owners = database.db
        .selectFrom('runs')
        .select('owner')
        .where('tenant', '=', tenant)
        .where('request_id', '=', requestId)
        .where(whereChat)
        .where((is) => is.and([...(issuer === undefined ? [] : [hasIssuer(issuer)]), ...(sub === undefined ? [] : [hasSub(sub)])]))
        .orderBy(ownFirst)
        .orderBy('owner')
        .limit(2)
      return (await query(database.forTenant(tenant).read, owners)).rows.map((row) => row.owner)
    },
  }
}

/** An owner is `<issuer> <sub>`; issuers contain no space. */
function hasIssuer(issuer: string) {
  const prefix = sql`cast(${`${issuer} `} as text)`
  return sql<boolean>`substr(owner, 1, length(${prefix})) = ${prefix}`
}

/** Matches the exact `sub`. Without ` <sub>` an owner is an issuer; a remaining space means that the owner has a longer `sub`. */
function hasSub(sub: string) {
  const suffix = sql`cast(${` ${sub}`} as text)`
  return sql<boolean>`replace(replace(owner, ${suffix}, ''), ' ', '') || ${suffix} = owner`
}
