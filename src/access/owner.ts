/** Whose things: the tenant, and inside of it `<issuer> <sub>`. */
export interface Owner {
  tenant: string
  owner: string
}

/** The `sub` of an owner: an issuer has no space in it. */
export function subOf({ owner }: Owner): string {
  return owner.slice(owner.indexOf(' ') + 1)
}
