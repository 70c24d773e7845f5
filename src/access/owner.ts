/** Whose things: the tenant, and inside of it `<issuer> <sub>`. */
export interface Owner {
  tenant: string
  owner: string
}

/**
 * The text that stands for a caller in the keys of maps, caches and locks. Names of tenants and owners hold blanks, but no control
 * characters (`isKeyName`), so that no two callers share a key.
 */
export function callerKey({ tenant, owner }: Owner): string {
  return `${tenant}\n${owner}`
}

/** The `sub` of an owner: an issuer has no space in it. */
export function subOf({ owner }: Owner): string {
  return owner.slice(owner.indexOf(' ') + 1)
}
