interface Checked {
  name: string
  status: 'ok' | 'warning' | 'error'
}

const ranks = { error: 0, warning: 1, ok: 2 }

/** Checks of one part with the same status. */
export interface CheckGroup<Row extends Checked> {
  name: string
  status: Row['status']
  checks: Row[]
}

/** The checks by part and status: errors first, then warnings; groups of one status stay in their order. */
export function groupChecks<Row extends Checked>(checks: readonly Row[]): CheckGroup<Row>[] {
  const groups = new Map<string, CheckGroup<Row>>()
  for (const check of checks) {
    const { name, status } = check
    const id = `${status} ${name}`
    const group = groups.get(id)
    if (group) group.checks.push(check)
    else groups.set(id, { name, status, checks: [check] })
  }
  return [...groups.values()].toSorted((a, b) => ranks[a.status] - ranks[b.status])
}

/** The message without the name of its check, which stands beside it: "store: SQLite opens" is "SQLite opens". */
export function withoutName(message: string, name: string): string {
  const prefix = `${name.replaceAll('_', ' ')}: `
  return message.startsWith(prefix) ? message.slice(prefix.length) : message
}

/** Findings of the checks in a sentence: "1 error and 2 warnings." */
export function summarize(checks: readonly Checked[]): string {
  const count = (status: Checked['status']): number => checks.filter((check) => check.status === status).length
  const findings = [phrase(count('error'), 'error'), phrase(count('warning'), 'warning')].filter((text) => text !== '')
  return findings.length === 0 ? 'Everything is in order.' : `${findings.join(' and ')}.`
}

function phrase(count: number, noun: string): string {
  if (count === 0) return ''
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** The name of a check as a text: "data_directory" is "Data directory". */
export function titleOf(name: string): string {
  const words = name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
