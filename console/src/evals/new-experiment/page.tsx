import { Button, Checkbox, Group, NumberInput, Select } from '@mantine/core'
import { useEffect, useState, type FormEvent } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { useMay } from '../../api/me.ts'
import { useTools } from '../../api/tools.ts'
import { faultText } from '../../parts/fault-text.ts'
import { LeaveDialog } from '../../parts/leave-dialog.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { PageSkeleton } from '../../parts/skeletons.tsx'
import { FailedState, ForbiddenState } from '../../parts/states.tsx'
import { datasetHref, experimentHref } from '../addresses.ts'
import { useStartExperiment } from '../experiment-queries.ts'
import { useDataset, type Dataset } from '../queries.ts'
import { ScorerList } from '../scorers/scorer-list.tsx'
import { CandidateFields } from './candidate.tsx'
import { toDraft, toExperiment, type Draft } from './draft.ts'
import { VersionSelect } from './version-select.tsx'
import styles from '../evals.module.css'

/** The form of a new experiment on the dataset in the address. */
export function NewExperimentPage() {
  const [search] = useSearchParams()
  const may = useMay()
  const dataset = useDataset(search.get('dataset') ?? '')
  if (!may('evals.write')) return <ForbiddenState permissions={['evals.write']} />
  if (dataset.data) return <Content dataset={dataset.data} />
  if (!dataset.error) return <PageSkeleton />
  return <FailedState title="The dataset could not be loaded" error={dataset.error} retry={() => void dataset.refetch()} />
}

function Content({ dataset }: { dataset: Dataset }) {
  const { id, name, examples, scorers } = dataset
  const [search] = useSearchParams()
  const [draft, setDraft] = useState(() => toDraft(search))
  const [isValid, setValid] = useState(true)
  const [, navigate] = useLocation()
  const start = useStartExperiment()
  const request = toExperiment(id, draft)
  const isReady = request !== undefined && (isValid || draft.candidate !== 'patch') && examples > 0
  const isWritten = (draft.candidate === 'text' && draft.text !== undefined) || (draft.candidate === 'patch' && draft.patch !== undefined)
  const change = (part: Partial<Draft>): void => setDraft((before) => ({ ...before, ...part }))
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (isReady && !start.isPending) start.mutate(request)
  }
  // After the render in which the page has no unsaved work.
  useEffect(() => {
    if (start.data) navigate(experimentHref(start.data.id))
  }, [start.data, navigate])
  return (
    <>
      <PageHeader title="New experiment">
        <div className={styles.facts}>
          <span>
            Replays{' '}
            <Link href={datasetHref(id)} className={styles.link}>
              {name}
            </Link>{' '}
            ({examples === 1 ? '1 example' : `${examples.toLocaleString('en')} examples`})
          </span>
          <ScorerList scorers={scorers} />
        </div>
      </PageHeader>
      <LeaveDialog isActive={isWritten && start.data === undefined}>The candidate that you wrote is not kept.</LeaveDialog>
      <form onSubmit={submit} className={styles.page} aria-label="New experiment">
        <Baseline draft={draft} change={change} />
        <CandidateFields draft={draft} change={change} onValidity={setValid} />
        <ReplayFields draft={draft} change={change} />
        {examples === 0 && <p className={styles.fault}>The dataset has no examples yet. Add a run first.</p>}
        {start.error && (
          <p role="alert" className={styles.fault}>
            {faultText(start.error)}
          </p>
        )}
        <Group justify="flex-end">
          <Button type="submit" loading={start.isPending} disabled={!isReady}>
            Start
          </Button>
        </Group>
      </form>
    </>
  )
}

export interface DraftProps {
  draft: Draft
  change: (part: Partial<Draft>) => void
}

function Baseline({ draft: { baseline, baselineVersion }, change }: DraftProps) {
  const options = [
    { value: 'current', label: 'The configuration in use' },
    { value: 'recorded', label: 'The recorded replies: no model is asked' },
    ...(useMay()('config.read') ? [{ value: 'version', label: 'A version of the history' }] : []),
  ]
  return (
    <div className={styles.form}>
      <Select
        label="Baseline"
        data={options}
        value={baseline}
        allowDeselect={false}
        onChange={(value) => change({ baseline: value as Draft['baseline'] })}
      />
      {baseline === 'version' && (
        <VersionSelect
          label="Version of the baseline"
          value={baselineVersion}
          onChange={(version) => change({ baselineVersion: version })}
        />
      )}
    </div>
  )
}

const missOptions = [
  { value: 'fail', label: 'The example ends as diverged' },
  { value: 'error', label: 'The call fails, and the model goes on' },
  { value: 'live', label: 'The tools that are chosen below read live' },
]

function ReplayFields({ draft: { repetitions, onMiss, live }, change }: DraftProps) {
  const tools = useTools().data ?? []
  const readers = tools.filter(({ effect }) => effect === 'read')
  return (
    <div className={styles.form}>
      <NumberInput
        label="Repetitions"
        description="Each costs the model calls of all examples again, and shows how steady the answers are."
        min={1}
        max={10}
        allowDecimal={false}
        value={repetitions}
        onChange={(value) => change({ repetitions: Number(value) })}
      />
      <Select
        label="A read without a recording"
        description="A call that changes something is never executed, whatever is chosen here."
        data={missOptions}
        value={onMiss}
        allowDeselect={false}
        onChange={(value) => change({ onMiss: value as Draft['onMiss'] })}
      />
      {onMiss === 'live' && (
        <Checkbox.Group label="Tools that read live" value={[...live]} onChange={(names) => change({ live: names })}>
          <div className={styles.choices}>
            {readers.map(({ name }) => (
              <Checkbox key={name} value={name} label={name} />
            ))}
            {readers.length === 0 && <span className={styles.quiet}>The agent has no tool that only reads.</span>}
          </div>
        </Checkbox.Group>
      )}
    </div>
  )
}
