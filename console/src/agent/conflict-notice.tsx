import { Button } from '@mantine/core'
import { AlertIcon } from '@primer/octicons-react'
import { useMemo } from 'react'
import { Timestamp } from '../parts/timestamp.tsx'
import { differencesOf } from './difference.ts'
import { DifferenceList } from './difference-list.tsx'
import { mergeTexts } from './merge.ts'
import { useHistory, type StoredText } from './queries.ts'
import type { EditedText } from './use-draft.ts'
import styles from './agent.module.css'

/** Notice of a change by another caller: shows the difference and lets the user decide. The draft stays until then. */
export function ConflictNotice({ edited, newer }: { edited: EditedText; newer: StoredText }) {
  const author = useHistory().rows.find(({ version }) => version === newer.version)
  const merged = useMemo(
    () => mergeTexts({ mine: edited.text, base: edited.base.text, theirs: newer.text }),
    [edited.text, edited.base.text, newer.text],
  )
  const theirs = differencesOf(edited.base.text, newer.text) ?? []
  return (
    <section className={styles.conflict} role="alert" aria-label="Conflict">
      <AlertIcon className={styles.warnIcon} />
      <div className={styles.conflictText}>
        <p>
          <b>The configuration was changed while you edited it</b>
          {author && (
            <>
              , by {author.by} <Timestamp at={author.at} />
            </>
          )}
          . Your draft is untouched.
        </p>
        {theirs.length > 0 ? (
          <DifferenceList differences={theirs} label="Changes of the other version" />
        ) : (
          <p className={styles.quiet}>Only comments or formatting differ from the text that you began with.</p>
        )}
        <div className={styles.buttons}>
          {merged !== undefined && (
            <Button size="xs" onClick={() => edited.rebase(newer, merged)}>
              Merge both
            </Button>
          )}
          <Button size="xs" variant={merged === undefined ? 'filled' : 'default'} onClick={() => edited.rebase(newer)}>
            Keep my text
          </Button>
          <Button size="xs" variant="default" onClick={edited.discard}>
            Take the other version
          </Button>
        </div>
        <p className={styles.quiet}>
          {merged === undefined && 'Both of you changed the same lines, so they cannot be merged. '}
          “Keep my text” undoes the change above when you save, except for what you copy into your text.
        </p>
      </div>
    </section>
  )
}
