import { Button, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { ChecklistIcon, PencilIcon, PlayIcon, TrashIcon } from '@primer/octicons-react'
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
import { newExperimentHref } from '../addresses.ts'
import { useDataset, useDatasetMutations, type Dataset } from '../queries.ts'
import { ScorerList } from '../scorers/scorer-list.tsx'
import { ScorersDialog } from '../scorers/scorers-dialog.tsx'
import { EditDatasetDialog } from './dialogs.tsx'
import { Examples } from './examples.tsx'
import styles from '../evals.module.css'

/** A dataset: its examples, and what is done with them. */
export function DatasetPage() {
  const dataset = useDataset(usePathId('id') ?? '')
  if (dataset.data) return <Content dataset={dataset.data} />
  if (!dataset.error) return <PageSkeleton />
  if (statusOf(dataset.error) === 404) return <FailedState title="There is no such dataset" text="It may have been deleted." />
  return <FailedState title="The dataset could not be loaded" error={dataset.error} retry={() => void dataset.refetch()} />
}

function Content({ dataset }: { dataset: Dataset }) {
  const { name, description, revision, examples, updated_at: updated } = dataset
  const mayWrite = useMay()('evals.write')
  return (
    <>
      <PageHeader title={name} actions={mayWrite && <Actions dataset={dataset} />}>
        {description !== '' && <p className={styles.description}>{description}</p>}
        <div className={styles.facts}>
          <Link href="/evals" className={styles.link}>
            Datasets
          </Link>
          <span>{examples === 1 ? '1 example' : `${examples.toLocaleString('en')} examples`}</span>
          <span>Revision {revision}</span>
          <span>
            Changed <Timestamp at={updated} />
          </span>
          <ScorerList scorers={dataset.scorers} />
        </div>
      </PageHeader>
      <Examples dataset={dataset} mayWrite={mayWrite} />
    </>
  )
}

function Actions({ dataset }: { dataset: Dataset }) {
  const [isEditing, editing] = useDisclosure(false)
  const [isScoring, scoring] = useDisclosure(false)
  const [removed, setRemoved] = useState<Dataset>()
  const [, navigate] = useLocation()
  const { remove } = useDatasetMutations()
  return (
    <>
      <Button component={Link} href={newExperimentHref(dataset.id)} size="sm" leftSection={<PlayIcon />}>
        New experiment
      </Button>
      <Button variant="default" size="sm" leftSection={<PencilIcon />} onClick={editing.open}>
        Edit
      </Button>
      <Button variant="default" size="sm" leftSection={<ChecklistIcon />} onClick={scoring.open}>
        Scorers
      </Button>
      <Button color="red" variant="light" size="sm" leftSection={<TrashIcon />} onClick={() => setRemoved(dataset)}>
        Delete
      </Button>
      {isEditing && <EditDatasetDialog dataset={dataset} isOpen onClose={editing.close} />}
      {isScoring && <ScorersDialog dataset={dataset} onClose={scoring.close} />}
      <ConfirmDialog
        item={removed}
        subject="The dataset"
        verb={['Delete', 'deleted']}
        mutation={remove}
        onClose={() => setRemoved(undefined)}
        onDone={() => navigate('/evals')}
      >
        {({ name, examples }) => (
          <Text size="sm">
            {name} is deleted with its {examples === 1 ? 'example' : `${examples} examples`} and all experiments on it. This cannot be
            undone.
          </Text>
        )}
      </ConfirmDialog>
    </>
  )
}
