import { Button, TextInput } from '@mantine/core'
import { AlertIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { Link } from 'wouter'
import { detailsOf } from '../api/errors.ts'
import { Timestamp } from '../parts/timestamp.tsx'
import styles from './agent.module.css'

type Refusal = NonNullable<ReturnType<typeof detailsOf>>

/** The details of a change that has not passed the gate; undefined for other errors. */
export function refusalOf(error: unknown): Refusal | undefined {
  const details = detailsOf(error)
  return details?.error_type === 'GateNotPassed' ? details : undefined
}

interface GateNoticeProps {
  refusal: Refusal
  /** A version that is restored; the change is the draft without one. */
  version?: string
  onOverride: (reason: string) => void
}

/** Says why the gate refuses a change, leads to the experiment, and saves the change all the same for a reason. */
export function GateNotice({ refusal: { reason, dataset, config_hash: hash, experiment }, version, onOverride }: GateNoticeProps) {
  const candidate = version === undefined ? 'candidate=text' : `candidate=version&version=${encodeURIComponent(version)}`
  const [override, setOverride] = useState('')
  return (
    <section className={styles.conflict} role="alert" aria-label="Gate">
      <AlertIcon className={styles.warnIcon} />
      <div className={styles.conflictText}>
        <p>
          <b>The change has not passed the gate</b>: {reason}. Nothing was changed.
        </p>
        {experiment ? (
          <p>
            <Link href={`/evals/experiments/${encodeURIComponent(experiment.id)}`}>Newest experiment of this change</Link>, ended{' '}
            <Timestamp at={experiment.ended_at} />
          </p>
        ) : (
          <p>
            Run an <Link href={`/evals/new?dataset=${encodeURIComponent(dataset ?? '')}&${candidate}`}>experiment</Link> on the dataset{' '}
            {dataset} with this change as its candidate, and save again.
          </p>
        )}
        <p className={styles.quiet}>
          Hash of the configuration: <code>{hash}</code>
        </p>
        <TextInput
          size="sm"
          label="Reason to save all the same"
          description="Recorded in the ledger with your name."
          maxLength={500}
          value={override}
          onChange={(event) => setOverride(event.currentTarget.value)}
        />
        <div className={styles.buttons}>
          <Button size="xs" color="red" disabled={override.trim() === ''} onClick={() => onOverride(override)}>
            Override the gate
          </Button>
        </div>
      </div>
    </section>
  )
}
