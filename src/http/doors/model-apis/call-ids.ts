import { hash } from 'node:crypto'

/** Ids of calls, whose prefix is that of the protocol. */

const ownCall = /^(?:call|toolu)_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/** The id of a call in a form that every provider accepts. Ids of other services that do not fit are replaced, always by the same id. */
export function toPlainId(id: string): string {
  const own = ownCall.exec(id)?.[1]
  if (own !== undefined) return own
  return /^[A-Za-z0-9_-]{1,64}$/.test(id) ? id : `call_${hash('sha256', id).slice(0, 24)}`
}
