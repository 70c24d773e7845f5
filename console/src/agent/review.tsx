import { Button, Checkbox } from '@mantine/core'
import { CheckCircleIcon } from '@primer/octicons-react'
import { useEffect, useRef, useState } from 'react'
import { messageOf } from '../api/errors.ts'
import { DifferenceList } from './difference-list.tsx'
import { GateNotice, refusalOf } from './gate-notice.tsx'
import { MemoryNotice } from './memory-notice.tsx'
import { ProblemList } from './problem-list.tsx'
import type { Fault } from './schema/faults.ts'
import type { Review } from './use-review.ts'
import { Warnings } from './warnings.tsx'
import styles from './agent.module.css'

interface ReviewPaneProps {
  review: Review
  mayWrite: boolean
  isChanged: boolean
  onOpen: (fault: Fault) => void
  isForm: boolean
}

/** The pane beside the editor: problems, differences, the result of the check, and the save. */
export function ReviewPane({ review, mayWrite, isChanged, onOpen, isForm }: ReviewPaneProps) {
  const { faults, differences, error, notice, check } = review
  const refusal = refusalOf(error)
  const end = useRef<HTMLDivElement>(null)
  const isSettled = check !== undefined || error !== undefined
  // On a narrow screen the review stands below the editor.
  useEffect(() => {
    if (isSettled) end.current?.scrollIntoView({ block: 'nearest' })
  }, [isSettled])
  return (
    <div className={styles.review} role="region" aria-label="Review" tabIndex={0}>
      <div aria-live="polite">
        {notice && (
          <p className={styles.good}>
            <CheckCircleIcon /> {notice}
          </p>
        )}
        {error !== undefined && !refusal && (
          <p role="alert" className={styles.error}>
            {messageOf(error)}
          </p>
        )}
      </div>
      {faults.length > 0 && <ProblemList faults={faults} onOpen={onOpen} />}
      {isChanged && (
        <section aria-label="Changes">
          <h2 className={styles.subtitle}>{countOf(differences?.length)}</h2>
          {differences && <DifferenceList differences={differences} label="Changes of the draft" />}
        </section>
      )}
      {mayWrite && isChanged && <Save key={String(check === undefined)} review={review} refusal={refusal} />}
      {!isChanged && faults.length === 0 && <Introduction mayWrite={mayWrite} isForm={isForm} />}
      <MemoryNotice />
      <div ref={end} />
    </div>
  )
}

function countOf(count: number | undefined): string {
  if (count === undefined) return 'Changes appear here once the text is valid YAML'
  if (count === 0) return 'Only comments or formatting have changed'
  return count === 1 ? '1 change' : `${count} changes`
}

function Introduction({ mayWrite, isForm }: { mayWrite: boolean; isForm: boolean }) {
  if (isForm && mayWrite) {
    return (
      <div className={styles.introduction}>
        <p>
          Change a field: what differs from the agent in use appears here. Check the change, then save it. Every version stays in the
          history.
        </p>
      </div>
    )
  }
  return (
    <div className={styles.introduction}>
      <p>
        This is <code>agent.yaml</code>: instructions, models, tools and limits of the agent. Secrets are shown as <code>********</code>.
      </p>
      {mayWrite ? (
        <p>
          Names and values complete as you type, or with <kbd>Ctrl</kbd> <kbd>Space</kbd>. <kbd>Ctrl</kbd> <kbd>S</kbd> checks the text;
          after the check you can save it. A <code>********</code> that you leave keeps its secret.
        </p>
      ) : (
        <p>Your key may read the configuration, not change it.</p>
      )}
    </div>
  )
}

/** The result of the check, and the save, which requires a passed check. */
function Save({ review: { check, isSaving, save }, refusal }: { review: Review; refusal: ReturnType<typeof refusalOf> }) {
  const [isInMemory, setInMemory] = useState(false)
  const mode = isInMemory ? 'memory' : 'file'
  if (!check) return <p className={styles.quiet}>Check the text, then you can save it.</p>
  return (
    <section aria-label="Result of the check" className={styles.result}>
      <p className={styles.good}>
        <CheckCircleIcon /> The text is valid.
      </p>
      <Warnings warnings={check.warnings} />
      <Checkbox
        size="sm"
        label="In memory only"
        description="Nothing is stored: the change ends when the service stops. Your draft stays here."
        checked={isInMemory}
        onChange={(event) => setInMemory(event.currentTarget.checked)}
      />
      {refusal && <GateNotice refusal={refusal} onOverride={(reason) => save(mode, reason)} />}
      <Button loading={isSaving} onClick={() => save(mode)}>
        {isInMemory ? 'Use in memory' : 'Save'}
      </Button>
    </section>
  )
}
