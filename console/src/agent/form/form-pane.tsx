import { useEffect, useMemo } from 'react'
import { SchemaForm } from '../../parts/schema-form/schema-form.tsx'
import { parseText } from '../schema/faults.ts'
import type { SchemaNode } from '../schema/schema-node.ts'
import { changesOf, schemaOf, sectionsOf, valuesOf, type FormSection } from './form-fields.ts'
import { setFields } from './set-fields.ts'
import styles from '../agent.module.css'

interface FormPaneProps {
  text: string
  schema: SchemaNode
  isReadOnly: boolean
  onChange: (text: string) => void
}

/** The most frequent settings as a form. The form reads and writes the same text as the editor. */
export function FormPane({ text, schema, isReadOnly, onChange }: FormPaneProps) {
  const data = useMemo(() => dataOf(text), [text])
  useEffect(() => document.getElementById(location.hash.slice(1))?.scrollIntoView(), [])
  if (data === undefined)
    return <p className={styles.formNote}>The text is not valid YAML. Mend it under agent.yaml; the form shows it then.</p>
  const change = (section: FormSection, before: Record<string, unknown>, after: unknown): void => {
    const changed = setFields(text, changesOf(section, before, after as Record<string, unknown>))
    if (changed !== undefined) onChange(changed)
  }
  return (
    <div className={styles.form} role="region" aria-label="Form" tabIndex={0}>
      {sectionsOf(data).map((section) => {
        const values = valuesOf(section, data)
        return (
          <section key={section.title} id={section.id} aria-label={section.title}>
            <h2 className={styles.formTitle}>{section.title}</h2>
            {section.text && <p className={styles.formText}>{section.text}</p>}
            <SchemaForm
              schema={schemaOf(section, data, schema)}
              value={values}
              onChange={(after) => change(section, values, after)}
              disabled={isReadOnly}
            />
          </section>
        )
      })}
      <p className={styles.quiet}>Everything else is set in agent.yaml, the tab beside.</p>
    </div>
  )
}

function dataOf(text: string): unknown {
  const { document } = parseText(text)
  if (document.errors.length > 0) return undefined
  try {
    return document.toJS({ maxAliasCount: 100 }) as unknown
  } catch {
    return undefined
  }
}
