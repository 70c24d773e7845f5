/** Whose things: the tenant, and inside of it `<issuer> <sub>`. */
export interface Owner {
  tenant: string
  owner: string
}
