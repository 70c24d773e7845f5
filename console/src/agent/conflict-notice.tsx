import { Button } from '@mantine/core'
import { AlertIcon } from '@primer/octicons-react'
import { Timestamp } from '../parts/timestamp.tsx'
import { differencesOf } from './difference.ts'
import { DifferenceList } from './difference-list.tsx'
import { useHistory, type StoredText } from './queries.ts'
import type { EditedText } from './use-draft.ts'
import styles from './agent.module.css'

/** Says that somebody else has changed the text meanwhile, what they changed, and lets the user decide. The draft stays until then. */
export function ConflictNotice({ edited, newer }: { edited: EditedText; newer: StoredText }) {
  const author = useHistory().rows.find(({ version }) => version === newer.version)
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
          <Button size="compact-sm" onClick={() => edited.rebase(newer)}>
            Keep my text
          </Button>
          <Button size="compact-sm" variant="default" onClick={edited.discard}>
            Take the other version
          </Button>
        </div>
        <p className={styles.quiet}>
          “Keep my text” compares your draft with the other version: what you do not add to your text yourself is undone by a save.
        </p>
      </div>
    </section>
  )
}
