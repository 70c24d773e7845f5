import { ServiceError } from '../../errors.ts'
import { formatProblems } from '../parse.ts'
import { ConfigError } from '../problems.ts'

/** A text of the configuration file that is not in effect, or a change of the files beside the text. */
export interface RefusedEdit {
  text: string
  /** The reasons, a line each. */
  faults: readonly string[]
  /** True for a usable text that has not passed the gate: an experiment changes that. */
  isOfGate: boolean
  cause: unknown
}

/** Undefined for an error that says nothing about the text. */
export function toRefused(text: string, name: string, cause: unknown): RefusedEdit | undefined {
  if (cause instanceof ConfigError) return { text, faults: formatProblems(name, cause), isOfGate: false, cause }
  if (cause instanceof ServiceError && cause.code === 'gate_not_passed') return { text, faults: [cause.message], isOfGate: true, cause }
  return undefined
}

/** The end of a sentence about the file, for the log. */
export function unused({ isOfGate }: Pick<RefusedEdit, 'isOfGate'>): string {
  return `was edited, but ${isOfGate ? 'the edit has not passed the gate' : 'cannot be used'}; the configuration is unchanged`
}

/** The subject of a refusal. */
export const ofFiles = 'The change of files'
export const filesUnused = 'Files of skills or modules were changed, but the change has not passed the gate; the former files stay in use'
