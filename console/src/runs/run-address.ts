import type { Me } from '../api/me.ts'

/** The key of a run: request ids are unique within an owner only. */
export interface RunName {
  request_id: string
  issuer: string
  sub: string
}

/** Address of a run's page. The owner stands in it where the run is another caller's. */
export function runAddress({ request_id: id, issuer, sub }: RunName, me: Pick<Me, 'issuer' | 'sub'> | undefined): string {
  const address = `/runs/${encodeURIComponent(id)}`
  const isOwn = issuer === me?.issuer && sub === me.sub
  return isOwn ? address : `${address}?${new URLSearchParams({ issuer, sub }).toString()}`
}
