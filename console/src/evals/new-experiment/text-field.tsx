import { useDeferredValue, useEffect, useMemo, useState } from 'react'
import { createDraftStore } from '../../agent/draft-store.ts'
import { YamlEditor } from '../../agent/editor/yaml-editor.tsx'
import { useSchema, useStoredText } from '../../agent/queries.ts'
import { findFaults, parseText } from '../../agent/schema/faults.ts'
import type { SchemaNode } from '../../agent/schema/schema-node.ts'
import { useMe } from '../../api/me.ts'
import { RowsSkeleton } from '../../parts/skeletons.tsx'
import { FailedState } from '../../parts/states.tsx'
import styles from '../evals.module.css'

interface TextFieldProps {
  /** Undefined until something is changed. */
  text: string | undefined
  onChange: (text: string) => void
}

/** agent.yaml in the editor, beginning with the draft of the screen Agent, or else with the text in use. Secrets are masked, and stay as they are. */
export function TextField({ text, onChange }: TextFieldProps) {
  const me = useMe().data
  const stored = useStoredText()
  // The draft of the screen Agent, as that screen stores the draft.
  const [draft] = useState(() => (me ? createDraftStore(localStorage, `${me.tenant} ${me.issuer} ${me.sub}`).load() : undefined))
  useEffect(() => {
    if (text === undefined && draft) onChange(draft.text)
  }, [text, draft, onChange])
  const schema = useSchema()
  const failed = [stored, schema].find((query) => query.error && !query.data)
  if (failed) return <FailedState title="The configuration could not be loaded" error={failed.error} retry={() => void failed.refetch()} />
  if (!stored.data || !schema.data) return <RowsSkeleton count={8} />
  return (
    <>
      {draft && (
        <p className={styles.text}>
          Begins with your draft of <i>Agent</i>
          {draft.lacksSecrets && ', without the secrets that you had typed there: enter them again'}.
        </p>
      )}
      <Editor text={text ?? stored.data.text} schema={schema.data} onChange={onChange} />
    </>
  )
}

function Editor({ text, schema, onChange }: { text: string; schema: SchemaNode; onChange: (text: string) => void }) {
  const shown = useDeferredValue(text)
  const faults = useMemo(() => findFaults(parseText(shown), schema), [shown, schema])
  return (
    <>
      <div className={styles.editor}>
        <YamlEditor
          ref={null}
          text={text}
          schema={schema}
          faults={faults}
          isReadOnly={false}
          onChange={onChange}
          onCheck={() => undefined}
        />
      </div>
      {faults[0] && (
        <p className={styles.fault}>
          Line {faults[0].line}: {faults[0].path} {faults[0].message}
        </p>
      )}
    </>
  )
}
