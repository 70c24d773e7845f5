import { Button, Text } from '@mantine/core'
import { SquareFillIcon, TrashIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { statusOf } from '../../api/errors.ts'
import { useMay } from '../../api/me.ts'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { PageSkeleton } from '../../parts/skeletons.tsx'
import { FailedState } from '../../parts/states.tsx'
import { Timestamp } from '../../parts/timestamp.tsx'
import { usePathId } from '../../parts/use-path-id.ts'
import { datasetHref } from '../addresses.ts'
import { hasEnded, useEndExperiment, useExperiment, type Experiment } from '../experiment-queries.ts'
import { ScorerList } from '../scorers/scorer-list.tsx'
import { Comparison } from './comparison.tsx'
import { Verdict } from './list.tsx'
import { ProposedWrites } from './proposed-writes.tsx'
import { Results } from './results.tsx'
import styles from '../evals.module.css'

/** An experiment: the proposed writes on top, both variants beside each other, the results by example. Live until its end. */
export function ExperimentPage() {
  const experiment = useExperiment(usePathId('id') ?? '')
  if (experiment.data) return <Content experiment={experiment.data} />
  if (!experiment.error) return <PageSkeleton />
  if (statusOf(experiment.error) === 404)
    return <FailedState title="There is no such experiment" text="It may have been removed, or its dataset was deleted." />
  return <FailedState title="The experiment could not be loaded" error={experiment.error} retry={() => void experiment.refetch()} />
}

function Content({ experiment }: { experiment: Experiment }) {
  const mayWrite = useMay()('evals.write')
  const { datasets, error } = experiment
  return (
    <>
      <PageHeader
        title={`Experiment on ${datasets.map(({ name }) => name).join(', ')}`}
        actions={mayWrite && <Actions experiment={experiment} />}
      >
        <Facts experiment={experiment} />
      </PageHeader>
      <div className={styles.body}>
        {!hasEnded(experiment) && <Progress experiment={experiment} />}
        {error !== null && (
          <p role="alert" className={styles.fault}>
            {error.slice(0, 2000)}
          </p>
        )}
        <ProposedWrites experiment={experiment} />
        <Comparison experiment={experiment} />
      </div>
      <Results experiment={experiment} />
    </>
  )
}

const missTexts = {
  fail: 'A call without a recording ends the example',
  error: 'A call without a recording fails',
  live: 'Reads without a recording are live',
}

function Facts({ experiment }: { experiment: Experiment }) {
  const { datasets, created_at: created, created_by: creator, repetitions, tools, scorers } = experiment
  return (
    <div className={styles.facts}>
      <Verdict experiment={experiment} />
      {datasets.map(({ id, name, revision, examples }) => (
        <span key={id}>
          <Link href={datasetHref(id)} className={styles.link}>
            {name}
          </Link>
          , revision {revision}, {examples === 1 ? '1 example' : `${examples.toLocaleString('en')} examples`}
        </span>
      ))}
      {repetitions > 1 && <span>{repetitions} repetitions</span>}
      <span>
        {missTexts[tools.on_miss]}
        {tools.live.length > 0 && `: ${tools.live.join(', ')}`}
      </span>
      <span title={creator.issuer}>{creator.sub}</span>
      <Timestamp at={created} />
      <ScorerList scorers={scorers} />
    </div>
  )
}

function Progress({ experiment: { done, total, status } }: { experiment: Experiment }) {
  return (
    <div className={styles.progress}>
      <progress value={done} max={Math.max(total, 1)} aria-label="Progress" />
      <span role="status">{status === 'pending' ? 'Waiting to start' : `${done} of ${total} replays are done`}</span>
    </div>
  )
}

function Actions({ experiment }: { experiment: Experiment }) {
  const [item, setItem] = useState<Experiment>()
  const [, navigate] = useLocation()
  const end = useEndExperiment()
  const isOver = hasEnded(experiment)
  return (
    <>
      <Button
        color="red"
        variant="light"
        size="sm"
        leftSection={isOver ? <TrashIcon /> : <SquareFillIcon />}
        onClick={() => setItem(experiment)}
      >
        {isOver ? 'Delete' : 'Cancel'}
      </Button>
      <ConfirmDialog
        item={item}
        subject="The experiment"
        verb={item && hasEnded(item) ? ['Delete', 'deleted'] : ['Cancel', 'cancelled']}
        mutation={end}
        onClose={() => setItem(undefined)}
        onDone={(ended) => hasEnded(ended) && navigate('/evals?tab=experiments')}
      >
        {(asked) => (
          <Text size="sm">
            {hasEnded(asked)
              ? 'The experiment is deleted with its results. A gate that needs it refuses the change of the configuration from then on.'
              : 'Replays that are done stay. The others are not made.'}
          </Text>
        )}
      </ConfirmDialog>
    </>
  )
}
