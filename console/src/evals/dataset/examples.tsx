import { Text } from '@mantine/core'
import { BeakerIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { PagedList } from '../../parts/pages/paged-table.tsx'
import { useFilters } from '../../parts/pages/use-filters.ts'
import { EmptyState } from '../../parts/states.tsx'
import { useDatasetMutations, useExamples, type Dataset, type ExampleKey } from '../queries.ts'
import { ExampleRow } from './example-row.tsx'
import { EditExampleDialog } from './example-dialog.tsx'
import styles from '../evals.module.css'

/** The examples of a dataset in rows that open. The open row is in the address. */
export function Examples({ dataset: { id }, mayWrite }: { dataset: Dataset; mayWrite: boolean }) {
  const examples = useExamples(id)
  const [{ example: open }, setFilter] = useFilters(['example'])
  const [dialog, setDialog] = useState<Dialog>()
  const { removeExample, detachExample } = useDatasetMutations()
  const close = (): void => setDialog(undefined)
  const itemOf = (kind: Dialog['kind']) => (dialog?.kind === kind ? dialog : undefined)
  return (
    <>
      <PagedList label="Examples" pages={examples} idOf={(example) => example.id} rowHeight={66} empty={<NoExamples mayWrite={mayWrite} />}>
        {(example) => (
          <ExampleRow
            dataset={id}
            example={example}
            isOpen={open === example.id}
            onOpen={() => setFilter('example', open === example.id ? undefined : example.id)}
            onAct={mayWrite ? (kind) => setDialog({ kind, dataset: id, example }) : undefined}
          />
        )}
      </PagedList>
      {dialog?.kind === 'edit' && <EditExampleDialog {...dialog} onClose={close} />}
      <ConfirmDialog item={itemOf('detach')} subject="The example" verb={['Detach', 'detached']} mutation={detachExample} onClose={close}>
        {({ example: { name } }) => (
          <Text size="sm" lineClamp={6}>
            {name} no longer belongs to its run: it stays when the conversation of the run is deleted. This is recorded, and cannot be
            undone.
          </Text>
        )}
      </ConfirmDialog>
      <ConfirmDialog item={itemOf('remove')} subject="The example" verb={['Remove', 'removed']} mutation={removeExample} onClose={close}>
        {({ example: { name } }) => (
          <Text size="sm" lineClamp={6}>
            {name} is no longer replayed. Experiments that have used it keep their results.
          </Text>
        )}
      </ConfirmDialog>
    </>
  )
}

interface Dialog extends ExampleKey {
  kind: 'edit' | 'detach' | 'remove'
}

function NoExamples({ mayWrite }: { mayWrite: boolean }) {
  return (
    <EmptyState icon={BeakerIcon} title="The dataset has no examples">
      An example is a run that can be replayed: the question, what the model was shown, its replies and the calls of tools with their
      outputs.{' '}
      {mayWrite && (
        <>
          Open one of your{' '}
          <Link href="/runs" className={styles.link}>
            runs
          </Link>{' '}
          and choose "Add to dataset".
        </>
      )}
    </EmptyState>
  )
}
