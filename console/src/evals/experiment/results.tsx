import { SegmentedControl } from '@mantine/core'
import { ChevronDownIcon, ChevronRightIcon, SearchIcon } from '@primer/octicons-react'
import { Link } from 'wouter'
import { PagedList } from '../../parts/pages/paged-table.tsx'
import { useFilters } from '../../parts/pages/use-filters.ts'
import { EmptyState } from '../../parts/states.tsx'
import { resultHref } from '../addresses.ts'
import { hasEnded, keyOf, useResults, type Experiment, type Outcome, type Result } from '../experiment-queries.ts'
import { OutcomeBadge, VariantDetails } from './variant-details.tsx'
import styles from '../evals.module.css'

const outcomes = [
  { value: '', label: 'All' },
  { value: 'failed', label: 'Failed' },
  { value: 'diverged', label: 'Diverged' },
  { value: 'error', label: 'Errors' },
  { value: 'passed', label: 'Passed' },
] as const satisfies readonly { value: Outcome | ''; label: string }[]

/** Results by example. The filter and the open row are in the address. */
export function Results({ experiment }: { experiment: Experiment }) {
  const [{ outcome, result: open }, setFilter] = useFilters(['outcome', 'result'])
  const chosen = outcomes.find(({ value }) => value === outcome)?.value || undefined
  const results = useResults(experiment, chosen)
  return (
    <div className={styles.results}>
      <div className={styles.filters}>
        <h2 className={styles.subtitle}>Results</h2>
        <SegmentedControl
          aria-label="Outcome"
          size="xs"
          data={outcomes.map(({ value, label }) => ({ value, label }))}
          value={chosen ?? ''}
          onChange={(value) => setFilter('outcome', value)}
        />
      </div>
      <PagedList
        label="Results"
        pages={results}
        idOf={keyOf}
        rowHeight={62}
        empty={
          <EmptyState icon={SearchIcon} title={chosen ? 'No result has this outcome' : 'There are no results yet'}>
            {chosen
              ? 'Choose another outcome.'
              : hasEnded(experiment)
                ? 'Nothing was replayed.'
                : 'Results appear here as examples are replayed.'}
          </EmptyState>
        }
      >
        {(result) => (
          <ResultRow
            experiment={experiment.id}
            result={result}
            isOpen={open === keyOf(result)}
            onOpen={() => setFilter('result', open === keyOf(result) ? undefined : keyOf(result))}
          />
        )}
      </PagedList>
    </div>
  )
}

interface ResultRowProps {
  experiment: string
  result: Result
  isOpen: boolean
  onOpen: () => void
}

function ResultRow({ experiment, result, isOpen, onOpen }: ResultRowProps) {
  const { example_name: name, question, repetition, baseline, candidate } = result
  return (
    <article className={styles.item} aria-label={name}>
      <div className={styles.row}>
        <button type="button" className={styles.open} aria-expanded={isOpen} onClick={onOpen}>
          {isOpen ? <ChevronDownIcon /> : <ChevronRightIcon />}
          <span className={styles.name}>{name}</span>
          {question.trim() !== name && <span className={styles.question}>{question}</span>}
        </button>
        <span className={styles.rowFacts}>
          {repetition > 1 && <span>Repetition {repetition}</span>}
          {baseline && <OutcomeBadge label="baseline" outcome={baseline.outcome} />}
          {candidate && <OutcomeBadge label="candidate" outcome={candidate.outcome} />}
          <Link href={resultHref(experiment, result)} className={styles.link} aria-label={`Compare traces of ${name}`}>
            Compare traces
          </Link>
        </span>
      </div>
      {isOpen && (
        <div className={styles.columns}>
          {baseline && <VariantDetails name="baseline" result={baseline} />}
          {candidate && <VariantDetails name="candidate" result={candidate} />}
        </div>
      )}
    </article>
  )
}
