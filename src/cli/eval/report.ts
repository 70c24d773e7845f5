import { formatTable } from '../terminal.ts'
import type { Experiment } from '../../../client/src/index.ts'
import { toLine, type Finding } from './findings.ts'

type Variant = Experiment['variants'][number]

/** Examples that each list of the report shows. */
const maxShown = 20

/** The report of an ended experiment: first the writes that the candidate would make. */
export function toReport(experiment: Experiment, findings: readonly Finding[]): string[] {
  const { added, changed, removed, same } = experiment.effects
  const { repetitions } = experiment
  const writes = toList(findings, repetitions, (finding) => finding.writes)
  const divergences = toList(findings, repetitions, ({ divergence }) => (divergence === undefined ? [] : [divergence]))
  const faults = toList(findings, repetitions, (finding) => finding.faults)
  return [
    toTitle(experiment),
    '',
    `Proposed writes: ${added} added, ${changed} changed, ${removed} removed, ${same} as recorded.`,
    ...writes,
    '',
    ...formatTable(toTable(experiment)),
    ...toSection('First divergences', divergences),
    ...toSection('Failed', faults),
  ]
}

export function toTitle({ id, datasets, repetitions }: Experiment): string {
  const names = datasets.map(({ name, revision, examples }) => `${toLine(name)} (revision ${revision}, ${examples} examples)`)
  return `Experiment ${id} on ${names.join(', ')}${repetitions > 1 ? `, ${repetitions} repetitions` : ''}.`
}

function toSection(title: string, list: readonly string[]): string[] {
  return list.length === 0 ? [] : ['', title, ...list]
}

/** The examples that have lines. Repetitions with the same lines stand together. */
function toList(findings: readonly Finding[], repetitions: number, linesOf: (finding: Finding) => string[]): string[] {
  const parts = findings.map((finding) => ({ ...finding, lines: linesOf(finding) })).filter(({ lines }) => lines.length > 0)
  const groups = [...Map.groupBy(parts, ({ example_id, lines }) => JSON.stringify([example_id, lines])).values()]
  const list = groups.slice(0, maxShown).flatMap((group) => {
    const { name, lines } = group[0]!
    const title = repetitions > 1 ? `${name} (${group.length} of ${repetitions})` : name
    return [`  ${title}`, ...lines.map((line) => `    ${line}`)]
  })
  const omitted = groups.length - maxShown
  return omitted > 0 ? [...list, `  and ${omitted} more`] : list
}

type Cell = (variant: Variant) => string

/** The rows of the table, by their title. */
const rows: readonly (readonly [string, Cell])[] = [
  [
    'configuration',
    ({ kind, version, config_hash: hash }) => (kind === 'recorded' ? 'recorded replies' : (version ?? `${kind} ${hash?.slice(0, 12)}`)),
  ],
  ['passed', ({ passed, done }) => `${passed} of ${done}`],
  ['pass rate', ({ pass_rate: rate }) => (rate === null ? '-' : toPercent(rate))],
  ['failed', ({ failed }) => String(failed)],
  ['diverged', ({ diverged }) => String(diverged)],
  ['errors', ({ errors }) => String(errors)],
  ['flaky examples', ({ flaky }) => String(flaky)],
  ['new writes', ({ effects }) => String(newWrites(effects))],
  ['cost', ({ cost }) => toCost(cost)],
  ['cost of judges', ({ judge_cost: cost }) => toCost(cost)],
  ['tokens', ({ tokens }) => String(tokens)],
  ['median time', ({ p50 }) => (p50 === null ? '-' : `${(p50 / 1000).toFixed(2)} s`)],
]

/** A column for each variant. Rows that say nothing are left out. */
function toTable({ variants, repetitions }: Experiment): string[][] {
  const isShown = (title: string) => {
    if (title === 'flaky examples') return repetitions > 1
    return title !== 'cost of judges' || variants.some(({ judge_cost: cost }) => (cost ?? 0) > 0)
  }
  const names = [...new Set(variants.flatMap(({ scores }) => scores.map(({ name }) => name)))]
  return [
    ['', ...variants.map(({ name }) => name)],
    ...rows.filter(([title]) => isShown(title)).map(([title, cell]) => [title, ...variants.map(cell)]),
    ...names.map((name) => [toLine(name), ...variants.map((variant) => toScore(variant, name))]),
  ]
}

function toScore({ scores }: Variant, name: string): string {
  const score = scores.find((each) => each.name === name)
  return score ? `${score.passed} of ${score.passed + score.failed}, mean ${Number(score.mean.toFixed(3))}` : '-'
}

/** Rounded down, so that 100 % means all. */
export function toPercent(rate: number): string {
  return `${Math.floor(rate * 1000 + 1e-9) / 10} %`
}

function toCost(usd: number | null): string {
  return usd === null ? '-' : `${Number(usd.toFixed(6))} USD`
}

/** The writes that the recordings do not have. */
export function newWrites({ added, changed }: Experiment['effects']): number {
  return added + changed
}

export interface Requirements {
  minPassRate: number
  maxAddedWrites: number
}

/** Why an ended experiment does not fulfil the requirements. Empty: the last variant passes. */
export function findShortfalls({ variants, effects, done, total }: Experiment, { minPassRate, maxAddedWrites }: Requirements): string[] {
  const rate = variants.at(-1)?.pass_rate ?? 0
  const writes = newWrites(effects)
  return [
    ...(done < total ? [`only ${done} of ${total} replays have a result`] : []),
    ...(rate < minPassRate ? [`the pass rate is ${toPercent(rate)}, and must be at least ${toPercent(minPassRate)}`] : []),
    ...(writes > maxAddedWrites ? [`writes added or changed: ${writes}, at most ${maxAddedWrites} are allowed`] : []),
  ]
}
