import type { AgentCoreError } from '../../../client/src/index.ts'
import { formatPath, rangeAt, type Fault, type ParsedText } from './schema/faults.ts'

/** The faults that the service found in a text, with positions. A fault without a path has the line that the service names. */
export function serviceFaults({ details }: Pick<AgentCoreError, 'details'>, parsed: ParsedText): Fault[] {
  return (details.errors ?? []).map((fault) => {
    const path = fault.loc.slice(1)
    const { line } = fault as { line?: number }
    const [from, to] = path.length > 0 || line === undefined ? rangeAt(parsed, path) : lineRange(parsed, line)
    return { from, to, line: line ?? parsed.counter.linePos(from).line, path: formatPath(path), message: fault.msg }
  })
}

function lineRange({ counter, document }: ParsedText, line: number): [from: number, to: number] {
  const from = counter.lineStarts[line - 1] ?? 0
  const end = counter.lineStarts[line]
  return [from, end === undefined ? (document.range?.[2] ?? from) : end - 1]
}
