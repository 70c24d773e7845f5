import { hash } from 'node:crypto'
import { callerKey, type Owner } from './owner.ts'

/** Short names of callers, which processes tell each other in the place of the callers' own. */
export type CallerIds = (caller: Owner) => string

/** The same in every process; a caller that stays the same object is asked for again at no cost. */
export function createCallerIds(): CallerIds {
  const known = new WeakMap<Owner, string>()
  return (caller) => {
    let id = known.get(caller)
    // 72 bits: among millions of callers no two are the same.
    if (id === undefined) known.set(caller, (id = hash('sha256', callerKey(caller), 'base64url').slice(0, 12)))
    return id
  }
}
