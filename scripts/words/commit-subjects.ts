import { execFileSync } from 'node:child_process'
import type { Finding } from './measure.ts'

/** The rule holds for commits after this commit. */
const lastExemptCommit = 'aac10a5335b31b56d00556a70c8009733745c4a2'
const maxSubjectLength = 72

/** Commits whose subject is too long. Undefined without git, and in a checkout whose history does not reach back to the last exempt commit. */
export function findLongSubjects(folder: string): Finding[] | undefined {
  const log = readLog(folder)
  if (log === undefined) return undefined
  return parseSubjects(log).filter(({ weight }) => weight > maxSubjectLength)
}

/** Parses lines `hash subject`. The weight of a finding is the length of the subject. */
export function parseSubjects(log: string): Finding[] {
  const lines = log.split('\n').filter((line) => line !== '')
  return lines.map((line) => {
    const hash = line.slice(0, line.indexOf(' '))
    const subject = line.slice(hash.length + 1)
    return { file: hash, line: 0, text: subject, weight: Array.from(subject).length }
  })
}

function readLog(folder: string): string | undefined {
  try {
    const parameters = ['log', '--no-merges', '--format=%h %s', `${lastExemptCommit}..HEAD`]
    return execFileSync('git', parameters, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return undefined
  }
}
