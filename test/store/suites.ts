import type { Database } from '../../src/store/database.ts'

interface StoreContract {
  title: string
  register(database: () => Database): void
}

/** The suites that `contract.ts` runs on every database. */
export const storeContracts: StoreContract[] = []

/** Adds a suite; the file that calls this is named `contract-<noun>.ts`. */
export function storeContract(title: string, register: StoreContract['register']): void {
  storeContracts.push({ title, register })
}
