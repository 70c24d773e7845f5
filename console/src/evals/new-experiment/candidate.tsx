import { Select } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { useMay } from '../../api/me.ts'
import { JsonField } from '../../parts/schema-form/json-field.tsx'
import { RowsSkeleton } from '../../parts/skeletons.tsx'
import type { Draft } from './draft.ts'
import type { DraftProps } from './page.tsx'
import { VersionSelect } from './version-select.tsx'
import styles from '../evals.module.css'

const TextField = lazy(async () => ({ default: (await import('./text-field.tsx')).TextField }))

/** The configuration that is tried: a version, a text or a patch. Texts and patches need the right to change the configuration. */
export function CandidateFields({ draft, change, onValidity }: DraftProps & { onValidity: (isValid: boolean) => void }) {
  const may = useMay()
  const { candidate, candidateVersion, text, patch } = draft
  const options = [
    { value: 'none', label: 'None: the baseline alone' },
    ...(may('config.read') ? [{ value: 'version', label: 'A version of the history' }] : []),
    ...(may('config.write') ? [{ value: 'patch', label: 'A patch of the configuration in use' }] : []),
    ...(may('config.write') && may('config.read') ? [{ value: 'text', label: 'A changed agent.yaml' }] : []),
  ]
  return (
    <div className={styles.form}>
      <Select
        label="Candidate"
        data={options}
        value={candidate}
        allowDeselect={false}
        onChange={(value) => change({ candidate: value as Draft['candidate'] })}
      />
      {candidate === 'version' && (
        <VersionSelect
          label="Version of the candidate"
          value={candidateVersion}
          onChange={(version) => change({ candidateVersion: version })}
        />
      )}
      {candidate === 'patch' && (
        <JsonField
          label="Patch"
          description='A JSON merge patch, such as {"instructions": "Be brief."}. A null removes a field.'
          required
          value={patch}
          onChange={(value) => change({ patch: value })}
          onValidity={onValidity}
        />
      )}
      {candidate === 'text' && (
        <Suspense fallback={<RowsSkeleton count={8} />}>
          <TextField text={text} onChange={(changed) => change({ text: changed })} />
        </Suspense>
      )}
    </div>
  )
}
