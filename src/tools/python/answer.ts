import type { JsonValue } from '../../agent/messages.ts'
import type { ToolContext } from '../../agent/tool.ts'
import { mediaTypeOf } from '../../artifacts/file-name.ts'
import { messageOf } from '../../errors.ts'
import { WorkerLost } from '../../processes/worker.ts'
import type { RunFile } from './memory-files.ts'
import type { Outcome, Ran } from './messages.ts'

/** The result of code which ran to its end, for the caller and the model. */
export interface RunAnswer {
  result?: JsonValue
  stdout?: string
  stderr?: string
  /** Names of the files written by the code. */
  files?: string[]
  note?: string
}

const texts = ['stderr', 'stdout', 'result', 'note'] as const
/** A shortened text keeps at least this many characters. */
const minCharacters = 200

/** Shortens the longest texts until the answer as JSON has at most `limit` characters. A longer output would be cut at an arbitrary position. */
export function fitAnswer(answer: RunAnswer, limit: number): RunAnswer {
  const fitting = { ...answer }
  for (let tries = 0; tries < 12; tries++) {
    const excess = JSON.stringify(fitting).length - limit
    if (excess <= 0) return fitting
    const longest = texts
      .map((name) => ({ name, text: fitting[name] }))
      .filter((entry): entry is { name: (typeof texts)[number]; text: string } => typeof entry.text === 'string')
      .sort((a, b) => b.text.length - a.text.length)[0]
    if (!longest || longest.text.length <= minCharacters) return fitting
    // Escaped characters take more room in JSON than in the text.
    const jsonCharacters = JSON.stringify(longest.text).length
    const share = (longest.text.length * Math.max(0, jsonCharacters - excess - 60)) / jsonCharacters
    fitting[longest.name] = shorten(longest.text, Math.max(minCharacters, Math.floor(share)))
  }
  return fitting
}

/** Shortens a text in the middle. */
export function shorten(text: string, limit: number): string {
  if (text.length <= limit) return text
  const head = Math.ceil((limit * 2) / 3)
  const tail = limit - head
  return `${text.slice(0, head).toWellFormed()}\n[${text.length - limit} characters left out]\n${text.slice(text.length - tail).toWellFormed()}`
}

/** Error text for the model: the error, then the output before the error. */
export function toFailureText(error: string, { stdout, stderr, files, note }: RunAnswer): string {
  const parts = [
    error,
    stdout && `Printed before:\n${stdout}`,
    stderr && `Printed to stderr:\n${stderr}`,
    files && `Files written: ${files.join(', ')}`,
    note,
  ]
  return parts.filter(Boolean).join('\n\n')
}

export async function saveFiles(runFiles: readonly RunFile[], context: ToolContext, notes: string[]): Promise<string[]> {
  const names: string[] = []
  for (const { path, bytes } of runFiles) {
    const name = path.slice(path.lastIndexOf('/') + 1)
    try {
      names.push((await context.artifact(name, mediaTypeOf(name), bytes)).name)
    } catch (error) {
      context.signal.throwIfAborted()
      notes.push(`${path} was not saved: ${messageOf(error)}`)
    }
  }
  return names
}

export function toAnswer({ result, repr }: Outcome, { stdout, stderr }: Ran, files: string[], notes: readonly string[]): RunAnswer {
  return {
    ...(result !== undefined && { result: JSON.parse(result) as JsonValue }),
    ...(repr !== undefined && { result: repr }),
    ...(stdout && { stdout }),
    ...(stderr && { stderr }),
    ...(files.length > 0 && { files }),
    ...(notes.length > 0 && { note: notes.join(' ') }),
  }
}

export function toFailure(error: unknown, limitMs: number): unknown {
  if (!(error instanceof WorkerLost)) return error
  const reasons = {
    memory: 'Python ran out of memory',
    crash: 'Python ended unexpectedly, most likely because it ran out of memory or because calls were nested too deeply',
    stopped: `The code did not stop after its limit of ${seconds(limitMs)} s`,
  }
  return new Error(`${reasons[reasonOf(error)]}; its variables and files are gone. Do less at a time.`, { cause: error })
}

export function reasonOf({ reason, message }: WorkerLost): 'memory' | 'crash' | 'stopped' {
  if (reason === 'stopped' || reason === 'closed') return 'stopped'
  return reason === 'fault' && message === 'memory' ? 'memory' : 'crash'
}

export function seconds(ms: number): number {
  return Math.round(ms / 100) / 10
}
