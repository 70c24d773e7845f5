import { maxOmittedCharacters, type RunFile, type WrittenLimits } from './memory-files.ts'

/** A question to a Python process. An abort raises KeyboardInterrupt, repeatedly until the run ends. */
export interface RunOrder {
  code: string
  /** Tool results as JSON of an object. If absent, the results of an earlier run stay. */
  results?: string
  inputFiles: RunFile[]
  /** Maximum characters of each text in the answer. */
  maxCharacters: number
  written: WrittenLimits
}

/** A message to the thread of a Python process. */
export interface ThreadOrder {
  order: RunOrder
  /** Sequence number of the run in the process, which appears in tracebacks. */
  number: number
}

/** A message from the thread of a Python process. */
export type Report =
  | { type: 'ready' }
  | { type: 'snapshot'; bytes: Uint8Array }
  | ({ type: 'ran' } & Ran)
  /** Python cannot be used any longer. */
  | { type: 'lost' }

export interface Ran {
  /** JSON of `Outcome`, written by Python. */
  outcome: string
  stdout: string
  stderr: string
  /** Paths of input files for which there was no memory. */
  rejectedFiles: string[]
  files: RunFile[]
  /** Paths of written files beyond the limits. */
  omittedFiles: string[]
}

/** The outcome of the code. `result` is JSON. `repr` is Python's representation of a value without equivalent in JSON. */
export interface Outcome {
  result?: string
  repr?: string
  error?: string
  /** The code was ended by an interrupt. */
  stopped?: boolean
}

/** The worker data of a thread. */
export interface ThreadData {
  /** The URL of Pyodide's module. */
  pyodide: string
  /** Shared memory whose first number is set to 2 to raise an interrupt. */
  interrupts: SharedArrayBuffer
  /** Descriptor of the snapshot. If absent, the thread makes a snapshot. */
  snapshot?: number
  /** Memory limit of Python including its files. */
  bytes: number
}

/**
 * The size limits for an answer, as sent with the order, which the service enforces: Python code may reach the surrounding JavaScript and make
 * its process send arbitrary messages.
 */
export type AnswerLimits = Pick<RunOrder, 'maxCharacters' | 'written'>

/** Maximum printed text per stream, more than any answer contains. */
export const maxOutputBytes = 200_000
const maxPath = 4096
/** Length of the note about omitted text in the middle. */
const noteCharacters = 100

/** Maximum length of the outcome. A character takes up to twelve characters in JSON inside JSON. */
export function maxOutcomeCharacters(maxCharacters: number): number {
  return 12 * maxCharacters + 10_000
}

/** Size limits of a message from the process. A character may take two bytes. */
export function messageLimits({ maxCharacters, written }: AnswerLimits): { structure: number; bytes: number } {
  const texts = maxOutcomeCharacters(maxCharacters) + 2 * (maxOutputBytes + noteCharacters) + maxOmittedCharacters
  return { structure: 2 * (texts + written.files * maxPath) + 1024 * 1024, bytes: written.bytes }
}

export function isRan(report: unknown, { maxCharacters, written }: AnswerLimits): report is Ran {
  const { outcome, stdout, stderr, rejectedFiles, files, omittedFiles } = report as Record<keyof Ran, unknown>
  return (
    isText(outcome, maxOutcomeCharacters(maxCharacters)) &&
    isText(stdout, maxOutputBytes + noteCharacters) &&
    isText(stderr, maxOutputBytes + noteCharacters) &&
    isTexts(rejectedFiles) &&
    isTexts(omittedFiles) &&
    Array.isArray(files) &&
    files.length <= written.files &&
    files.every(isFile) &&
    files.reduce((sum, { bytes }) => sum + bytes.byteLength, 0) <= written.bytes
  )
}

/** Parses the outcome of a run. Throws if the text is not a valid outcome. */
export function readOutcome(text: string): Outcome {
  const outcome: unknown = JSON.parse(text)
  if (typeof outcome !== 'object' || outcome === null) throw new Error('Python returned an invalid answer.')
  const { result, repr, error, stopped } = outcome as Record<keyof Outcome, unknown>
  const isValid = [result, repr, error].every((part) => part === undefined || typeof part === 'string')
  if (!isValid) throw new Error('Python returned an invalid answer.')
  return { ...(outcome as Outcome), stopped: stopped === true }
}

function isText(value: unknown, maxCharacters: number): value is string {
  return typeof value === 'string' && value.length <= maxCharacters
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((text) => isText(text, maxPath))
}

function isFile(file: unknown): file is RunFile {
  const { path, bytes } = (file ?? {}) as Partial<RunFile>
  return isText(path, maxPath) && bytes instanceof Uint8Array
}
