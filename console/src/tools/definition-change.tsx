import { CutText } from '../parts/cut-text.tsx'
import { JsonView } from '../parts/json/json-view.tsx'
import type { ChangedTool } from './queries.ts'
import styles from './tools.module.css'

/** The differences of a definition in lines, and both definitions side by side. */
export function DefinitionChange({ tool: { name, changes, accepted, changed } }: { tool: ChangedTool }) {
  return (
    <>
      <h3 className={styles.subtitle}>{name}</h3>
      <CutText text={changes.join('\n')} label="Differences" />
      <div className={styles.definitions}>
        <Definition title="Accepted" definition={accepted} />
        <Definition title="Now" definition={changed} />
      </div>
    </>
  )
}

function Definition({ title, definition }: { title: string; definition: ChangedTool['accepted'] }) {
  return (
    <section aria-label={title}>
      <h4 className={styles.subtitle}>{title}</h4>
      <CutText text={definition.description} label={`Description, ${title.toLowerCase()}`} />
      <JsonView value={{ schema: definition.schema, annotations: definition.annotations }} label={`Definition, ${title.toLowerCase()}`} />
    </section>
  )
}
