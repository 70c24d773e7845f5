import type { Denial } from '../../access/denials.ts'
import type { Database } from '../database.ts'

/** Records denials of a tenant, all or none. */
export function createDenialRecord({ forTenant, ledger }: Database): (tenant: string, denials: readonly Denial[]) => Promise<void> {
  return (tenant, denials) =>
    forTenant(tenant).unit(async (connection) => {
      for (const { acting, act } of denials) await ledger.record(connection, tenant, acting, act)
    })
}
