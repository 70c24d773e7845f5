import type { KeptFiles } from '../artifacts/answer-files.ts'
import type { ErrorBody } from '../errors.ts'
import { fromCompact } from './log/compact-log.ts'
import { collect, errorOf, endWithoutSession, type Outcome } from './log/outcome.ts'
import type { StoredRun } from './run-store.ts'

/** The files of a run's answer; undefined for none, and for a run from before its end named them. */
export function keptFilesOf({ log }: Pick<StoredRun, 'log'>): KeptFiles | undefined {
  const last = log?.events.at(-1)
  return last?.type === 'end' || last?.type === 'interrupt' ? last.files : undefined
}

/** The answer or the error of an ended run. Must not be called for an unended run: a repeated run still has the log of the first end. */
export function resultOf({ log, status, error }: StoredRun): { outcome?: Outcome | undefined; error?: ErrorBody | undefined } {
  const outcome = log && log.events.length > 0 ? collect(log.input, fromCompact(log.events)) : undefined
  const end = outcome?.end ?? (status === 'error' ? endWithoutSession : undefined)
  return { outcome, error: error ?? (end && errorOf(end)) }
}
