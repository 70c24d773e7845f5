import { ArtifactPreview } from '../parts/artifact/artifact-preview.tsx'
import { Duration } from '../parts/figures.tsx'
import { JsonView } from '../parts/json/json-view.tsx'
import { StatusBadge } from '../parts/status-badge.tsx'
import type { Execution } from './queries.ts'
import styles from './tools.module.css'

/** The result of a tool: output or failure, time, files. */
export function ExecutionResult({ execution }: { execution: Execution }) {
  const { status, output, execution_time: seconds, generated_artifacts: artifacts = [] } = execution
  return (
    <section aria-label="Result" aria-live="polite">
      <div className={styles.resultHead}>
        <StatusBadge status={status} />
        <Duration ms={seconds * 1000} />
      </div>
      <JsonView value={output} label="Output" />
      {artifacts.map((artifact) => (
        <ArtifactPreview key={artifact.artifact_id} artifact={artifact} />
      ))}
    </section>
  )
}
