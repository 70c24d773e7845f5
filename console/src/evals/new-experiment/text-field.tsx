import { useDeferredValue, useMemo } from 'react'
import { YamlEditor } from '../../agent/editor/yaml-editor.tsx'
import { useSchema, useStoredText } from '../../agent/queries.ts'
import { findFaults, parseText } from '../../agent/schema/faults.ts'
import type { SchemaNode } from '../../agent/schema/schema-node.ts'
import { RowsSkeleton } from '../../parts/skeletons.tsx'
import { FailedState } from '../../parts/states.tsx'
import styles from '../evals.module.css'

interface TextFieldProps {
  /** Undefined until something is changed. */
  text: string | undefined
  onChange: (text: string) => void
}

/** agent.yaml in the editor, beginning with the text in use. Secrets are masked, and stay as they are. */
export function TextField({ text, onChange }: TextFieldProps) {
  const stored = useStoredText()
  const schema = useSchema()
  const failed = [stored, schema].find((query) => query.error && !query.data)
  if (failed) return <FailedState title="The configuration could not be loaded" error={failed.error} retry={() => void failed.refetch()} />
  if (!stored.data || !schema.data) return <RowsSkeleton count={8} />
  return <Editor text={text ?? stored.data.text} schema={schema.data} onChange={onChange} />
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
