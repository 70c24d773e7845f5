import { Button } from '@mantine/core'
import { useEffect, useMemo, useRef } from 'react'
import { Link, useSearchParams } from 'wouter'
import { statusOf } from '../../api/errors.ts'
import { PageHeader } from '../../parts/page-header.tsx'
import { PageSkeleton } from '../../parts/skeletons.tsx'
import { FailedState } from '../../parts/states.tsx'
import { usePathId } from '../../parts/use-path-id.ts'
import { experimentHref } from '../addresses.ts'
import { align } from '../align.ts'
import { hasEnded, useExperiment, useResult, type Result, type TraceEntry } from '../experiment-queries.ts'
import { Output, VariantDetails } from '../experiment/variant-details.tsx'
import { Traces } from './traces.tsx'
import styles from '../evals.module.css'

/** The traces of one example beside each other, scrolled to the first divergence. */
export function ComparePage() {
  const id = usePathId('id') ?? ''
  const example = usePathId('example') ?? ''
  const [search] = useSearchParams()
  const experiment = useExperiment(id).data
  const isLive = experiment !== undefined && !hasEnded(experiment)
  const result = useResult(id, example, Number(search.get('repetition') ?? 1), isLive)
  if (result.data) return <Content experiment={id} result={result.data} />
  if (!result.error) return <PageSkeleton />
  if (statusOf(result.error) === 404)
    return <FailedState title="There is no such result" text="It may not be there yet, or its experiment or example was removed." />
  return <FailedState title="The result could not be loaded" error={result.error} retry={() => void result.refetch()} />
}

function Content({ experiment, result }: { experiment: string; result: Result }) {
  const { example_name: name, question, repetition, recorded, baseline, candidate } = result
  const columns = useMemo(() => columnsOf(result), [result])
  const { rows, divergence } = useMemo(() => align(columns.map(({ trace }) => trace)), [columns])
  const target = useRef<HTMLTableRowElement>(null)
  const reveal = (): void => target.current?.scrollIntoView({ block: 'center', inline: 'end' })
  useEffect(reveal, [divergence])
  return (
    <>
      <PageHeader
        title={name}
        actions={
          divergence !== undefined && (
            <Button variant="default" size="sm" onClick={reveal}>
              Go to the first divergence
            </Button>
          )
        }
      >
        <div className={styles.facts}>
          <Link href={experimentHref(experiment)} className={styles.link}>
            Experiment
          </Link>
          {repetition > 1 && <span>Repetition {repetition}</span>}
          {recorded.request_id !== null && (
            <Link href={`/runs/${encodeURIComponent(recorded.request_id)}`} className={styles.link}>
              Recorded run
            </Link>
          )}
          {question.trim() !== name && <span>{question.slice(0, 500)}</span>}
        </div>
      </PageHeader>
      <div className={styles.columns}>
        <section className={styles.variant} aria-label="recorded">
          <span className={styles.quiet}>recorded</span>
          <Output text={recorded.output} />
        </section>
        {baseline && <VariantDetails name="baseline" result={baseline} />}
        {candidate && <VariantDetails name="candidate" result={candidate} />}
      </div>
      {divergence === undefined && rows.length > 0 && <p className={styles.body}>The traces are the same.</p>}
      <Traces names={columns.map(({ name }) => name)} rows={rows} divergence={divergence} target={target} />
    </>
  )
}

function columnsOf({ recorded, baseline, candidate }: Result): { name: string; trace: readonly TraceEntry[] }[] {
  const traces = [
    { name: 'recorded', trace: recorded.trace },
    { name: 'baseline', trace: baseline?.trace },
    { name: 'candidate', trace: candidate?.trace },
  ]
  return traces.flatMap(({ name, trace }) => (trace ? [{ name, trace }] : []))
}
