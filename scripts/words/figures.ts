import type { Finding, Measurement } from './measure.ts'

export interface Figure {
  title: string
  /** In `unit`, rounded to one decimal. Undefined when the figure could not be measured. */
  value: number | undefined
  limit: number
  unit: string
  findings: readonly Finding[]
  /** Shown instead of `findings` when only the worst are shown. */
  summary?: readonly Finding[]
}

/** The figures of the check, each with a limit. `longSubjects` is undefined when there is no git history. */
export function computeFigures(total: Measurement, longSubjects: readonly Finding[] | undefined): Figure[] {
  const { openings, comments, pronouns, commentWords, pronounComments, functionWordNames, names, spreads } = total
  return [
    {
      title: 'comments that open with a pronoun or fronted clause',
      value: percent(openings.length, comments),
      limit: 3,
      unit: '%',
      findings: openings,
    },
    { title: 'pronouns in comments', value: percent(pronouns, commentWords), limit: 5, unit: 'per 100 words', findings: pronounComments },
    {
      title: 'declared names that are function words',
      value: percent(functionWordNames.length, names),
      limit: 1,
      unit: '%',
      findings: functionWordNames,
      summary: groupByText(functionWordNames),
    },
    { title: 'spreads of object literals', value: spreads.length, limit: 0, unit: '', findings: spreads },
    { title: 'commit subjects over 72 characters', value: longSubjects?.length, limit: 0, unit: '', findings: longSubjects ?? [] },
  ]
}

export function isExceeded({ value, limit }: Figure): boolean {
  return value !== undefined && value > limit
}

/** Formats a figure and the limit of the figure as a line. */
export function formatFigure(figure: Figure): string {
  const { title, value, limit, unit } = figure
  const measured = value === undefined ? 'skipped: no git history' : `${value} ${unit}`.trim()
  return `${title.padEnd(52)} ${measured.padEnd(23)} limit ${`${limit} ${unit}`.trim()}${isExceeded(figure) ? '  EXCEEDED' : ''}`
}

/** Lines `file:line: text` of all findings. The worst findings are first. */
export function formatFindings({ findings }: Figure): string[] {
  return sortByWeight(findings).map(formatFinding)
}

/** The lines of the worst findings, and a line with the number of the others. */
export function formatWorst({ findings, summary = findings }: Figure, maxCount: number): string[] {
  const lines = sortByWeight(summary).slice(0, maxCount).map(formatFinding)
  return summary.length > maxCount ? [...lines, `  ${findings.length} findings in all: npm run words -- --list`] : lines
}

function sortByWeight(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((first, second) => second.weight - first.weight)
}

function formatFinding({ file, line, text }: Finding): string {
  return `  ${line ? `${file}:${line}` : file}: ${text}`
}

/** The first finding of each text. The weight is the number of findings with this text. */
function groupByText(findings: readonly Finding[]): Finding[] {
  const groups = Map.groupBy(findings, ({ text }) => text)
  return [...groups].map(([text, group]) => ({ ...group[0]!, text: `${text} (${group.length}x)`, weight: group.length }))
}

function percent(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((1000 * part) / whole) / 10
}
