/** The owner of data: a tenant, and inside of the tenant `<issuer> <sub>`. */
export interface Owner {
  tenant: string
  owner: string
}

/**
 * The key of a caller in maps, caches and locks. Names of tenants and owners may hold blanks but no control characters
 * (`isKeyName`), so no two callers share a key.
 */
export function callerKey({ tenant, owner }: Owner): string {
  return `${tenant}\n${owner}`
}

/** The issuer of an owner. An issuer has no spaces. */
export function issuerOf({ owner }: Pick<Owner, 'owner'>): string {
  return owner.slice(0, owner.indexOf(' '))
}

/** The `sub` of an owner. An issuer has no spaces. */
export function subOf({ owner }: Pick<Owner, 'owner'>): string {
  return owner.slice(owner.indexOf(' ') + 1)
}
