import type { Operation } from '../history/operations.ts'

/** Errors that the clients themselves caused: by leaving, and by cancelling the run. */
const ownErrors: ReadonlySet<string | undefined> = new Set(['Left', 'Cancelled'])
/**
 * Operations without the load balancer: the operations go to a process that may be restarting, or record the calls that the service has
 * made.
 */
const directKinds: ReadonlySet<string> = new Set(['use key', 'model call', 'fault'])

/** Operations that failed although processes were only restarted one at a time, as texts. */
export function findDisturbed(history: readonly Operation[]): string[] {
  return history
    .filter(({ kind, result, error }) => result === 'unknown' && !directKinds.has(kind) && !ownErrors.has(error))
    .map(
      ({ kind, args, status, error }) => `${kind} ${JSON.stringify(args)} failed during rolling restarts: ${status ?? ''} ${error ?? ''}`,
    )
}
