import { lazy, Suspense, useRef } from 'react'
import { RowsSkeleton } from '../parts/skeletons.tsx'
import { FormPane } from './form/form-pane.tsx'
import { ConflictNotice } from './conflict-notice.tsx'
import type { EditorHandle } from './editor/yaml-editor.tsx'
import { ReviewPane } from './review.tsx'
import type { SchemaNode } from './schema/schema-node.ts'
import type { EditedText } from './use-draft.ts'
import type { Review } from './use-review.ts'
import styles from './agent.module.css'

const YamlEditor = lazy(async () => ({ default: (await import('./editor/yaml-editor.tsx')).YamlEditor }))

interface EditorPaneProps {
  edited: EditedText
  review: Review
  schema: SchemaNode
  mayWrite: boolean
  /** Shows the form in place of the text. */
  isForm: boolean
  onShowText: () => void
}

/** The form or the editor, with the review of their text at the side. */
export function EditorPane({ edited, review, schema, mayWrite, isForm, onShowText }: EditorPaneProps) {
  const editor = useRef<EditorHandle>(null)
  return (
    <>
      {edited.newer && <ConflictNotice edited={edited} newer={edited.newer} />}
      {edited.lacksSecrets && (
        <p className={styles.notice}>This draft was kept in the browser without the secrets that you had typed. Enter them again.</p>
      )}
      <div className={styles.workspace}>
        <div className={styles.editor}>
          {isForm ? (
            <FormPane text={edited.text} schema={schema} isReadOnly={!mayWrite} onChange={edited.setText} />
          ) : (
            <Suspense fallback={<EditorSkeleton />}>
              <YamlEditor
                ref={editor}
                text={edited.text}
                schema={schema}
                faults={review.faults}
                isReadOnly={!mayWrite}
                onChange={edited.setText}
                onCheck={review.runCheck}
              />
            </Suspense>
          )}
        </div>
        <ReviewPane
          review={review}
          mayWrite={mayWrite}
          isChanged={edited.isChanged}
          onOpen={({ from, to }) => (isForm ? onShowText() : editor.current?.reveal(from, to))}
          isForm={isForm}
        />
      </div>
    </>
  )
}

function EditorSkeleton() {
  return (
    <div className={styles.state}>
      <RowsSkeleton count={10} />
    </div>
  )
}
