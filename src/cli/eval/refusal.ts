import { AgentCoreError, type FieldFault } from '../../../client/src/index.ts'
import { formatProblems } from '../../configuration/parse.ts'
import { ConfigError, problemAt } from '../../configuration/problems.ts'
import { toFailure } from '../chat/service-client.ts'
import { CommandFailure } from '../terminal.ts'

/** The parts of the command line that a fault of the request names. */
interface Named {
  /** The file of the candidate. */
  config?: string
  live?: string[]
}

/** Converts an error of the client to lines that name options, files and lines. `advice` follows an unknown name. */
export function toRefusal(error: unknown, advice: string, named: Named = {}): unknown {
  if (!(error instanceof AgentCoreError)) return error
  if (error.status === 404) return new CommandFailure(1, [error.message, advice])
  const faults: LineFault[] | undefined = error.details.errors
  if (faults === undefined) return toFailure(error)
  const byLine = faults.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0))
  return new CommandFailure(
    1,
    byLine.map((fault) => toLine(fault, named)),
  )
}

/** A fault of a text has a line. */
type LineFault = FieldFault & { line?: number }

function toLine({ loc, msg, line }: LineFault, { config, live }: Named): string {
  const [, part, field, ...at] = loc
  if (config !== undefined && part === 'candidate' && field === 'text')
    return formatProblems(config, new ConfigError([{ ...problemAt(at, msg), ...(line !== undefined && { line }) }]))[0]!
  const name = part === 'tools' && field === 'live' ? live?.[Number(at[0])] : undefined
  return name === undefined ? `${loc.slice(1).join('.')}: ${msg}` : `--live ${name}: ${msg}`
}
