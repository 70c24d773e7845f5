import { hash } from 'node:crypto'
import { callerKey, type Owner } from './owner.ts'

/** Short ids of callers for messages between processes, in place of the callers' names. */
export type CallerIds = (caller: Owner) => string

/**
 * The id of a caller is the same in every process. Ids are cached by object, so repeated calls with the same object are
 * free.
 */
export function createCallerIds(): CallerIds {
  const idsByCaller = new WeakMap<Owner, string>()
  return (caller) => {
    let id = idsByCaller.get(caller)
    // 72 bits make a collision among millions of callers very unlikely.
    if (id === undefined) idsByCaller.set(caller, (id = hash('sha256', callerKey(caller), 'base64url').slice(0, 12)))
    return id
  }
}
