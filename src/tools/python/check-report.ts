import type { Ran, RunOrder, Told } from './messages.ts'
import { maxLeftCharacters, type RunFile } from './memory-files.ts'

/**
 * The limits of what a Python process answers, checked by the service: code that Python runs can reach the JavaScript around it and make its
 * process send what it likes.
 */

/** What the order of a run says of its answer. */
export type AnswerLimits = Pick<RunOrder, 'maxCharacters' | 'written'>

/** Of what is printed, more than any answer holds. */
export const maxPrinted = 200_000
const maxPath = 4096
/** Of a note on what was left out between the beginning and the end of a text. */
const noteCharacters = 100

/** JSON in JSON: a character becomes twelve at most. */
export function longestTold(maxCharacters: number): number {
  return 12 * maxCharacters + 10_000
}

/** What one message of the process may have: a character of a text may take two bytes. */
export function messageLimits({ maxCharacters, written }: AnswerLimits): { structure: number; bytes: number } {
  const texts = longestTold(maxCharacters) + 2 * (maxPrinted + noteCharacters) + maxLeftCharacters
  return { structure: 2 * (texts + written.files * maxPath) + 1024 * 1024, bytes: written.bytes }
}

export function isRan(report: unknown, { maxCharacters, written }: AnswerLimits): report is Ran {
  const { told, stdout, stderr, notGiven, files, left } = report as Record<keyof Ran, unknown>
  return (
    isText(told, longestTold(maxCharacters)) &&
    isText(stdout, maxPrinted + noteCharacters) &&
    isText(stderr, maxPrinted + noteCharacters) &&
    isTexts(notGiven) &&
    isTexts(left) &&
    Array.isArray(files) &&
    files.length <= written.files &&
    files.every(isFile) &&
    files.reduce((sum, { bytes }) => sum + bytes.byteLength, 0) <= written.bytes
  )
}

/** The outcome of a run. Throws where the text is none. */
export function readTold(text: string): Told {
  const told: unknown = JSON.parse(text)
  if (typeof told !== 'object' || told === null) throw new Error('Python gave no answer.')
  const { result, repr, error, stopped } = told as Record<keyof Told, unknown>
  const isTold = [result, repr, error].every((part) => part === undefined || typeof part === 'string')
  if (!isTold) throw new Error('Python gave no answer.')
  return { ...(told as Told), stopped: stopped === true }
}

function isText(value: unknown, longest: number): value is string {
  return typeof value === 'string' && value.length <= longest
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((text) => isText(text, maxPath))
}

function isFile(file: unknown): file is RunFile {
  const { path, bytes } = (file ?? {}) as Partial<RunFile>
  return isText(path, maxPath) && bytes instanceof Uint8Array
}
