import { Button } from '@mantine/core'
import { ChevronDownIcon, ChevronRightIcon } from '@primer/octicons-react'
import { Link } from 'wouter'
import { useMay, useMe } from '../../api/me.ts'
import { runAddress } from '../../runs/run-address.ts'
import { JsonView } from '../../parts/json/json-view.tsx'
import { RowsSkeleton } from '../../parts/skeletons.tsx'
import { FailedState } from '../../parts/states.tsx'
import { Section } from '../../run/details/fact.tsx'
import { useExample, type Example, type ExampleKey } from '../queries.ts'
import styles from '../evals.module.css'

interface ExampleRowProps extends ExampleKey {
  isOpen: boolean
  onOpen: () => void
  /** Absent for a key that may change nothing. */
  onAct: ((action: 'edit' | 'detach' | 'remove') => void) | undefined
}

/** An example in a row that opens to its recording. */
export function ExampleRow({ dataset, example, isOpen, onOpen, onAct }: ExampleRowProps) {
  const { name, question, tags, source } = example
  return (
    <article className={styles.item} aria-label={name}>
      <div className={styles.row}>
        <button type="button" className={styles.open} aria-expanded={isOpen} onClick={onOpen}>
          {isOpen ? <ChevronDownIcon /> : <ChevronRightIcon />}
          <span className={styles.name}>{name}</span>
          {question.trim() !== name && <span className={styles.question}>{question}</span>}
        </button>
        <span className={styles.rowFacts}>
          {countsOf(example)}
          {example.reduced && (
            <span className={styles.warn} title="A part of what the model was shown is not known, so a replay may differ.">
              reduced
            </span>
          )}
          {tags.map((tag) => (
            <span key={tag} className={styles.tag}>
              {tag}
            </span>
          ))}
        </span>
      </div>
      {isOpen && (
        <div className={styles.details}>
          <div className={styles.facts}>
            <Source source={source} />
            {onAct && (
              <span className={styles.buttons}>
                <Button size="compact-sm" variant="default" onClick={() => onAct('edit')}>
                  Edit
                </Button>
                {source && (
                  <Button size="compact-sm" variant="default" onClick={() => onAct('detach')}>
                    Detach
                  </Button>
                )}
                <Button size="compact-sm" variant="light" color="red" onClick={() => onAct('remove')}>
                  Remove
                </Button>
              </span>
            )}
          </div>
          <Recording dataset={dataset} example={example} />
        </div>
      )}
    </article>
  )
}

function countsOf({ calls, writes }: Example): string {
  if (calls === 0) return 'No calls'
  const counted = calls === 1 ? '1 call' : `${calls} calls`
  return writes === 0 ? counted : `${counted}, ${writes === 1 ? '1 write' : `${writes} writes`}`
}

function Source({ source }: { source: Example['source'] }) {
  const mayReadRun = useMay()('runs.read')
  const me = useMe().data
  if (!source) return <span>Written by hand, or detached from its run</span>
  const { request_id: run, config_version: version } = source
  return (
    <span>
      From the run{' '}
      {mayReadRun ? (
        <Link href={runAddress(source, me)} className={styles.link}>
          {run}
        </Link>
      ) : (
        run
      )}
      {version && ` of version ${version.slice(0, 12)}`}
    </span>
  )
}

function Recording(key: ExampleKey) {
  const { data, error, refetch } = useExample(key)
  if (error) return <FailedState title="The example could not be loaded" error={error} retry={() => void refetch()} />
  if (!data) return <RowsSkeleton count={3} />
  const { input, before, recording, model_replies: replies, expected } = data
  const hasExpected = Object.keys(expected).length > 0
  return (
    <>
      <Part title="Input" value={input} />
      {before.length > 0 && <Part title="Shown before the question" value={before} />}
      <Part title="Recording" value={{ calls: recording, replies }} />
      {hasExpected && <Part title="Expected" value={expected} />}
    </>
  )
}

function Part({ title, value }: { title: string; value: object }) {
  return (
    <Section title={title}>
      <JsonView value={value} label={title} />
    </Section>
  )
}
