import { Button } from '@mantine/core'
import { CheckCircleIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { messageOf } from '../../api/errors.ts'
import { RowsSkeleton } from '../../parts/skeletons.tsx'
import { resultHref } from '../addresses.ts'
import { hasEnded, keyOf, useProposedWrites, type ProposedWrite, type Experiment } from '../experiment-queries.ts'
import { JsonLine } from '../json-line.tsx'
import styles from '../evals.module.css'

const step = 50

/** The writes that the last variant would make and the recorded runs have not made, in a table; and what is not known of them. */
export function ProposedWrites({ experiment }: { experiment: Experiment }) {
  const { effects, variants, id } = experiment
  const [wanted, setWanted] = useState(step)
  const { writes, isPending, error, hasMore, retry } = useProposedWrites(experiment, wanted)
  const count = effects.added + effects.changed
  const subject = variants.length > 1 ? 'candidate' : 'baseline'
  return (
    <section className={styles.writes} data-found={count > 0} aria-labelledby="proposed-writes">
      <h2 id="proposed-writes" className={styles.subtitle}>
        Proposed writes{count > 0 && `: ${count.toLocaleString('en')}`}
      </h2>
      {count === 0 ? (
        <NoWrites experiment={experiment} subject={subject} />
      ) : (
        <p className={styles.text}>The {subject} would have made these writes, and the recorded runs did not. None of them was executed.</p>
      )}
      <Unknowns experiment={experiment} />
      {count > 0 && error && writes.length === 0 && (
        <p role="alert" className={styles.fault}>
          {messageOf(error)} <Button {...small} onClick={() => void retry()} children="Try again" />
        </p>
      )}
      {writes.length > 0 && <WriteTable id={id} writes={writes.slice(0, wanted)} />}
      {count > 0 && isPending && writes.length === 0 && <RowsSkeleton count={2} />}
      {hasMore && writes.length >= wanted && (
        <Button {...small} className={styles.start} onClick={() => setWanted(wanted + step)}>
          Show more
        </Button>
      )}
    </section>
  )
}

const small = { variant: 'default', size: 'compact-sm' } as const

function NoWrites({ experiment, subject }: { experiment: Experiment; subject: string }) {
  if (!hasEnded(experiment)) return <p className={styles.text}>None so far.</p>
  if (experiment.done === 0) return <p className={styles.text}>Nothing was replayed, so no write is known.</p>
  return (
    <p className={styles.none}>
      <CheckCircleIcon /> None. The {subject} makes no write that the recorded runs did not make.
    </p>
  )
}

/** What the list does not say: writes that are missing, and replays that ended before their end. */
function Unknowns({ experiment: { effects, variants } }: { experiment: Experiment }) {
  const { diverged = 0, errors = 0, done = 0 } = variants.at(-1) ?? {}
  const stopped = diverged + errors
  return (
    <>
      {effects.removed > 0 && (
        <p className={styles.warning}>
          {effects.removed === 1 ? '1 recorded write is missing.' : `${effects.removed.toLocaleString('en')} recorded writes are missing.`}
        </p>
      )}
      {stopped > 0 && (
        <p className={styles.warning}>
          {stopped.toLocaleString('en')} of {done.toLocaleString('en')} replays stopped before their end. What would have been written after
          that is not known.
        </p>
      )}
    </>
  )
}

function WriteTable({ id, writes }: { id: string; writes: readonly ProposedWrite[] }) {
  return (
    <div className={styles.scroller} role="region" aria-label="Proposed writes" tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Tool</th>
            <th scope="col">Input</th>
            <th scope="col">Example</th>
          </tr>
        </thead>
        <tbody>
          {writes.map(({ tool, tool_input: input, before, result }, index) => (
            <tr key={`${keyOf(result)} ${index}`}>
              <td className={styles.tool}>{tool}</td>
              <td className={styles.input}>
                <JsonLine value={input} />
                {before !== undefined && (
                  <div className={styles.quiet}>
                    in place of <JsonLine value={before} />
                  </div>
                )}
              </td>
              <td>
                <Link href={resultHref(id, result)} className={styles.link}>
                  {result.example_name}
                </Link>
                {result.repetition > 1 && <span className={styles.quiet}> repetition {result.repetition}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
