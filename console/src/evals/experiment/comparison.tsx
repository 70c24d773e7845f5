import type { ReactNode } from 'react'
import { Cost, Duration, Tokens } from '../../parts/figures.tsx'
import type { EffectCounts, Experiment, Variant } from '../experiment-queries.ts'
import { describeEffects, describeVariant } from './words.ts'
import styles from '../evals.module.css'

const percent = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 })

interface Row {
  title: string
  note?: string
  cell: (variant: Variant) => ReactNode
}

const configuration: readonly Row[] = [
  { title: 'Configuration', cell: describeVariant },
  { title: 'Hash', cell: ({ config_hash: hash }) => (hash === null ? '–' : <code title={hash}>{hash.slice(0, 12)}</code>) },
]

const figures: readonly Row[] = [
  {
    title: 'Pass rate',
    cell: ({ pass_rate: rate, passed, done }) => (rate === null ? '–' : `${percent.format(rate)} (${passed} of ${done})`),
  },
  { title: 'Failed', cell: ({ failed }) => failed },
  { title: 'Diverged', cell: ({ diverged }) => diverged },
  { title: 'Errors', cell: ({ errors }) => errors },
]

const costs: readonly Row[] = [
  { title: 'Cost', note: 'without diverged examples', cell: ({ cost }) => <Cost usd={cost} /> },
  { title: 'Tokens', note: 'without diverged examples', cell: ({ tokens }) => <Tokens count={tokens} /> },
  { title: 'Median duration', note: 'without diverged examples', cell: ({ p50 }) => <Duration ms={p50} /> },
]

const judged: Row = { title: 'Cost of judges', cell: ({ judge_cost: cost }) => <Cost usd={cost} /> }
const flaky: Row = { title: 'Flaky examples', note: 'repetitions have other outcomes', cell: (variant) => variant.flaky }
const effects: Row = { title: 'Writes', cell: (variant) => describeWrites(variant.effects) }

function describeWrites(counts: EffectCounts): string {
  const difference = describeEffects(counts)
  return `${counts.same} the same${difference === 'none' ? '' : `, ${difference}`}`
}

function scoreRow(name: string): Row {
  return {
    title: name,
    note: 'mean score',
    cell: ({ scores }) => {
      const score = scores.find((candidate) => candidate.name === name)
      if (!score || score.mean === null) return '–'
      return `${score.mean.toFixed(2)}${score.failed > 0 ? ` (${score.failed} failed)` : ''}`
    },
  }
}

/** The variants in two columns. */
export function Comparison({ experiment: { variants, repetitions, scorers } }: { experiment: Experiment }) {
  const names = new Set([...scorers, ...variants.flatMap(({ scores }) => scores)].map(({ name }) => name))
  const hasJudge = variants.some(({ judge_cost: cost }) => cost)
  const rows = [
    ...configuration,
    effects,
    ...figures,
    ...(repetitions > 1 ? [flaky] : []),
    ...Array.from(names, scoreRow),
    ...costs,
    ...(hasJudge ? [judged] : []),
  ]
  return (
    <section aria-labelledby="comparison">
      <h2 id="comparison" className={styles.subtitle}>
        Variants
      </h2>
      <div className={styles.scroller} role="region" aria-label="Variants" tabIndex={0}>
        <table className={styles.table}>
          <thead>
            <tr>
              <th scope="col">Measure</th>
              {variants.map(({ name }) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ title, note, cell }, index) => (
              <tr key={`${title} ${index}`}>
                <th scope="row" title={note}>
                  {title}
                </th>
                {variants.map((variant) => (
                  <td key={variant.name} className={styles.number}>
                    {cell(variant)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}
