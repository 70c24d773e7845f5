import { Button, Fieldset, Group, Modal, SegmentedControl, Select } from '@mantine/core'
import { PlusIcon, TrashIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { faultText } from '../../parts/fault-text.ts'
import { notify } from '../../parts/notify.ts'
import { JsonField } from '../../parts/schema-form/json-field.tsx'
import { SchemaForm } from '../../parts/schema-form/schema-form.tsx'
import { useDatasetMutations, type Dataset, type Scorer } from '../queries.ts'
import { kinds, schemaOf, toKind } from './kinds.ts'
import styles from '../evals.module.css'

const maxScorers = 20
const kindOptions = Object.entries(kinds).map(([value, { label }]) => ({ value, label }))

/** The scorers of a dataset in a form, or as JSON. */
export function ScorersDialog({ dataset: { id, scorers }, onClose }: { dataset: Dataset; onClose: () => void }) {
  const [draft, setDraft] = useState<readonly Scorer[]>(() => scorers.map((scorer) => toKind(scorer.kind, scorer)))
  const [mode, setMode] = useState('form')
  const [isValid, setValid] = useState(true)
  const { change } = useDatasetMutations()
  const done = (): void => {
    notify('The scorers were changed.')
    onClose()
  }
  const save = (): void => change.mutate({ id, patch: { scorers: [...draft] } }, { onSuccess: done })
  const isList = Array.isArray(draft)
  return (
    <Modal opened onClose={onClose} title="Scorers" size="lg" closeButtonProps={{ 'aria-label': 'Close' }}>
      <div className={styles.form}>
        <SegmentedControl
          aria-label="Form of the scorers"
          size="xs"
          className={styles.start}
          data={[
            { value: 'form', label: 'Form' },
            { value: 'json', label: 'JSON' },
          ]}
          value={mode}
          disabled={!isValid || !isList}
          onChange={setMode}
        />
        {mode === 'json' ? (
          <JsonField
            label="Scorers"
            description="A list of objects with name and kind."
            value={draft}
            onChange={(value) => setDraft((value ?? []) as Scorer[])}
            onValidity={setValid}
          />
        ) : (
          <ScorerForms scorers={draft} onChange={setDraft} onValidity={setValid} />
        )}
        {change.error && (
          <p role="alert" className={styles.fault}>
            {faultText(change.error)}
          </p>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button loading={change.isPending} disabled={!isValid || !isList} onClick={save}>
            Save
          </Button>
        </Group>
      </div>
    </Modal>
  )
}

interface ScorerFormsProps {
  scorers: readonly Scorer[]
  onChange: (scorers: readonly Scorer[]) => void
  onValidity: (isValid: boolean) => void
}

function ScorerForms({ scorers, onChange, onValidity }: ScorerFormsProps) {
  const add = (): void => onChange([...scorers, toKind('effects', { name: unusedName(scorers) })])
  return (
    <>
      {scorers.length === 0 && (
        <p className={styles.text}>Without scorers, an example passes where its writes are those of the recording.</p>
      )}
      {scorers.map((scorer, index) => (
        <ScorerForm
          // A changed kind has other fields, and a text that is no JSON belongs to its field.
          key={`${index} ${scorers.length} ${scorer.kind}`}
          scorer={scorer}
          number={index + 1}
          onChange={(changed) => onChange(scorers.with(index, changed))}
          onRemove={() => onChange(scorers.toSpliced(index, 1))}
          onValidity={onValidity}
        />
      ))}
      {scorers.length < maxScorers && (
        <Button variant="default" size="compact-sm" className={styles.start} leftSection={<PlusIcon />} onClick={add}>
          Add a scorer
        </Button>
      )}
    </>
  )
}

function unusedName(scorers: readonly Scorer[]): string {
  const names = new Set(scorers.map(({ name }) => name))
  const candidates = ['effects', ...Array.from({ length: maxScorers }, (_, index) => `scorer-${index + 1}`)]
  return candidates.find((name) => !names.has(name))!
}

interface ScorerFormProps {
  scorer: Scorer
  number: number
  onChange: (scorer: Scorer) => void
  onRemove: () => void
  onValidity: (isValid: boolean) => void
}

function ScorerForm({ scorer, number, onChange, onRemove, onValidity }: ScorerFormProps) {
  const { kind: _kind, ...fields } = scorer
  return (
    <Fieldset legend={`Scorer ${number}`}>
      <div className={styles.form}>
        <Select
          label="Measures"
          data={kindOptions}
          value={scorer.kind}
          allowDeselect={false}
          onChange={(kind) => onChange(toKind(kind as Scorer['kind'], scorer))}
        />
        <SchemaForm
          schema={schemaOf(scorer.kind)}
          value={fields}
          onChange={(value) => onChange({ ...(value as object), kind: scorer.kind } as Scorer)}
          onValidity={onValidity}
        />
        <Button
          variant="light"
          color="red"
          size="compact-sm"
          className={styles.start}
          leftSection={<TrashIcon />}
          aria-label={`Remove scorer ${number}`}
          onClick={onRemove}
        >
          Remove
        </Button>
      </div>
    </Fieldset>
  )
}
